"""Answers about a job of many ranks: sentences, tables, JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from eventide._util import format as f
from eventide.jobs import (
    BEGIN,
    BandwidthRow,
    Imbalance,
    JobPath,
    JobReport,
    RankRow,
    Share,
    Straggler,
    Stragglers,
    Waiting,
    WhatIf,
)
from eventide.report._report import check_suffix, plain, write_whole
from eventide.report._tables import Fitted, as_text, table

_ROWS = 5
_LAST = {"bound": "{}", "ends": "{} (by ends)", "no": "{} (not resolved)"}


def job_findings(report: JobReport) -> list[str]:
    """Sentences, most important first."""
    return [
        *_speed(report),
        *_waited(report),
        *_cause(report),
        *_pattern(report.stragglers),
        *_stage(report),
        *_slow(report),
    ]


def _speed(report: JobReport) -> list[str]:
    found, what = report.stragglers, report.stragglers.what_if
    if not found.resolved:
        off = f"{100 * found.replay_error:+.1f} %"
        return [f"The slowdown by stragglers ({_more(what.slowdown)}) is not resolved: the replay is off by {off}"]
    ranks = [each for each in what.ranks if each.explains > 0.01][:3]
    which = ", ".join(f"rank {each.name} explains {f.percent(each.explains, 1)} of it" for each in ranks)
    begin = next((each.explains for each in what.operations if each.name == BEGIN), 0.0)
    kind = max((each for each in what.operations if each.name != BEGIN), key=lambda each: each.explains, default=None)
    operation = f"; the operation that explains most is {kind.name!r} ({f.percent(kind.explains, 1)})" if kind else ""
    step = max(what.parts, key=lambda each: each.explains, default=None)
    if step is not None and step.explains > 0.01:
        operation += f"; the step that does is {step.name!r} ({f.percent(step.explains, 1)})"
    text = (
        f"Without stragglers the {f.time(what.actual)} would take {f.time(what.ideal)}: {_more(what.slowdown)} "
        f"slowdown (the replay is off by {100 * found.replay_error:+.1f} %)"
    )
    texts = [text + (f"; {which}" if which else "; no single rank explains it") + operation]
    if begin > 0.1:
        texts.append(
            f"{f.percent(begin, 1)} of the slowdown is that the ranks do not begin their recordings together: record "
            "several steps, so that it is a smaller part"
        )
    return texts


def _waited(report: JobReport) -> list[str]:
    waits = report.waiting
    whole = waits.total + waits.transfer
    text = (
        f"{f.percent(waits.total, whole)} of the time in collectives is waiting: {f.time(waits.total)} of all ranks "
        f"together, against {f.time(waits.transfer)} of transfer"
    )
    worst = waits.ranks[0]
    error = max((row.error for row in waits.rows), default=0.0)
    who = f"Rank {worst.rank} was waited for most: it was last in {worst.times} of {len(waits.rows)} collectives"
    clock = f"{worst.resolved} of them resolved; each wait is known to {f.time(error)} or better"
    return [text, f"{who}, and cost the others {f.time(worst.cost)} ({clock})"]


def _cause(report: JobReport) -> list[str]:
    slow = {each.rank: each for each in report.stragglers.stragglers}
    worst = slow.get(report.waiting.ranks[0].rank) or next(iter(slow.values()), None)
    if worst is None or not worst.causes:
        return []
    first = worst.causes[0]
    text = f"Rank {worst.rank}: {first.meaning} ({f.time(first.time)} before its collectives)"
    if first.what == "computation":
        text += _slower_kernel(worst, first.time)
    return [text]


def _slower_kernel(worst: Straggler, late: float) -> str:
    """The same work was slower, or the rank did other work or more of it."""
    same = [each for each in worst.names if each.count == each.usual_count]
    if sum(each.time - each.median for each in same) < late / 10:
        return "; it did other work than they, of other shapes, or more of it"
    shape = "" if same[0].grid is None else f" of the same shape, {same[0].grid},"
    return f"; {f.name(same[0].name, 40)}{shape} took {f.time(same[0].time)} instead of {f.time(same[0].median)}"


def _pattern(found: Stragglers) -> list[str]:
    if found.pattern == "persistent":
        return [
            f"The straggler is persistent: rank {found.pattern_rank} is waited for most in half of the steps or more"
        ]
    return ["The straggler moves: another rank in most steps"] if found.pattern == "moving" else []


def _stage(report: JobReport) -> list[str]:
    last = report.stragglers.what_if.explained_by_last_stage
    if last is None or last <= 0:
        return []
    return [f"The last stage of the pipeline explains {f.percent(last, 1)} of the slowdown"]


def _slow(report: JobReport) -> list[str]:
    """Collectives whose transfer is an outlier."""
    count = sum(len(row.slow) for row in report.bandwidth)
    if not count:
        return []
    row = min((row for row in report.bandwidth if row.slow), key=lambda row: (row.slowest or 0) / (row.median or 1))
    which = f"{row.kind or 'a collective'} ({row.slow[0]})"
    speed = f"{f.size(row.slowest or 0)}/s instead of {f.size(row.median or 0)}/s"
    less = "transferred at less than half of the bandwidth of their like"
    return [f"{f.count(count, 'collective')} {less}; the slowest is {which} at {speed}"]


def _more(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f} %"


def describe_job(report: JobReport) -> str:
    """Ranks, collectives, and the error of the clocks in one line."""
    of = f" of {report.world_size}" if report.world_size and report.world_size > report.ranks else ""
    worst = report.clocks.worst
    clock = f"clocks of all aligned ranks known to {f.time(worst)}" if worst is not None else "no clock is known"
    return f"{f.count(report.ranks, 'rank')}{of}, {f.count(len(report.waiting.rows), 'collective')}, {clock}"


def render_job(report: JobReport) -> RenderableType:
    """The whole screen."""
    parts: list[RenderableType] = [Text.assemble((report.path, "bold"), ": ", describe_job(report)), Text("")]
    parts += [Text(f"{number}. {text}.") for number, text in enumerate(job_findings(report), 1)]
    parts += [
        Text(""),
        straggler_table(report.stragglers, report.waiting, _ROWS),
        Text(""),
        wait_table(report.waiting, _ROWS),
    ]
    parts += [Text(""), path_table(report.critical_path, _ROWS), Text(f"{path_error(report.critical_path)}.")]
    if report.hidden:
        parts += [Text(""), Text("Not known", style="bold"), *(Text(f"- {text}") for text in report.hidden)]
    return Group(*parts)


def straggler_table(found: Stragglers, waits: Waiting, most: int) -> Fitted:
    """Ranks by what they explain."""
    own = {each.rank: each for each in waits.ranks}
    causes = {each.rank: each.causes for each in found.stragglers}
    rows = []
    for share in sorted(found.what_if.ranks, key=lambda each: -each.explains)[:most]:
        waited = own[int(share.name)]
        cause = causes.get(int(share.name), ())
        rows.append(
            [
                f"rank {share.name}",
                cause[0].what if cause else "-",
                _more(share.slowdown),
                f.percent(share.explains, 1) if share.explains > 0 else "0 %",
                str(waited.times),
                f.time(waited.cost),
                f.time(waited.waited),
            ]
        )
    heads = ("own cause", "slowdown alone", "explains", "last", "cost others", "waited itself")
    return table("Stragglers", heads, rows, 2)


def share_tables(what: WhatIf, most: int) -> list[Fitted]:
    """Stages, steps and kinds of operations, each by what it explains; those that the job has."""
    parts = (("stage", what.stages), ("step", what.parts), ("operation", what.operations))
    return [_share_table(f"Slowdown by {word}", shares, most) for word, shares in parts if shares]


def _share_table(title: str, shares: Sequence[Share], most: int) -> Fitted:
    rows = [
        [f.name(share.name, 40), _more(share.slowdown), f.percent(share.explains, 1) if share.explains > 0 else "0 %"]
        for share in sorted(shares, key=lambda each: -each.explains)[:most]
    ]
    return table(title, ("slowdown alone", "explains"), rows, 1)


def wait_table(waits: Waiting, most: int) -> Fitted:
    """Collectives by waiting."""
    rows = [
        [
            f.name(row.key, 40),
            row.kind or "-",
            _LAST[row.resolved].format(row.last),
            str(row.ranks),
            f.time(row.waiting),
            f.time(row.longest),
            f.time(row.transfer),
            f.time(row.error),
        ]
        for row in sorted(waits.rows, key=lambda row: -row.waiting)[:most]
    ]
    return table("Collectives", ("kind", "last rank", "ranks", "waiting", "longest", "transfer", "error"), rows, 3)


def path_table(path: JobPath, most: int) -> Fitted:
    """The critical path by rank and operation."""
    rows = [
        [
            share.operation,
            f"rank {share.rank}",
            f.time(share.time),
            f.percent(share.time, path.length),
            str(share.count),
        ]
        for share in path.shares[:most]
    ]
    return table("Critical path across ranks", ("rank", "time", "share", "pieces"), rows, 2)


def path_error(path: JobPath) -> str:
    """How well the path is known."""
    return (
        f"It changes the rank {f.count(path.changes, 'time')}, at times known to {f.time(path.error)}; in "
        f"{path.not_resolved} of {f.count(path.collectives, 'collective')} on it the last rank is not resolved"
    )


def imbalance_table(found: Imbalance, most: int) -> Fitted:
    """Ranks by compute, most first."""
    ranks = sorted(found.ranks, key=lambda row: (not row.steps, -(row.compute or row.length)))
    parts = ("compute", "communication", "copy", "overlap", "idle")
    some = any(row.steps for row in ranks)
    rows = [
        [_rank_name(row, some), "-" if row.stage is None else str(row.stage), f.time(row.length), *_times(row, parts)]
        for row in ranks[:most]
    ]
    return table(f"Mean of a step (known to {f.time(found.resolution)})", ("stage", "length", *parts), rows, 2)


def _rank_name(row: RankRow, some: bool) -> str:
    return f"rank {row.rank}" if row.steps or not some else f"rank {row.rank} (whole trace: it has no steps)"


def stage_table(found: Imbalance) -> Fitted:
    """Stages by compute."""
    rows = [
        [
            "all ranks" if row.stage is None else f"stage {row.stage}",
            str(row.ranks),
            *_times(row, ("compute", "slowest_compute")),
            str(row.slowest),
            "-" if row.imbalance is None else _more(1 + row.imbalance),
        ]
        for row in found.stages
    ]
    return table("Stages", ("ranks", "compute", "slowest", "rank", "more than the mean"), rows, 1)


def _times(row: object, names: Sequence[str]) -> list[str]:
    values = [getattr(row, name) for name in names]
    return ["-" if value is None else f.time(value) for value in values]


def bandwidth_table(rows: Sequence[BandwidthRow], most: int) -> Fitted:
    """By group, kind and size."""
    cells = [
        [
            row.group or "-",
            row.kind or "-",
            f"from {f.size(row.size)}",
            str(row.count),
            str(row.resolved),
            "not resolved" if row.median is None else f"{f.size(row.median)}/s",
            "-" if row.slowest is None else f"{f.size(row.slowest)}/s",
            str(len(row.slow)),
        ]
        for row in rows[:most]
    ]
    return table("Bandwidth", ("kind", "size", "count", "resolved", "median", "slowest", "below half"), cells, 3)


def write_job(report: JobReport, path: str | os.PathLike[str]) -> None:
    """Write the report to an .html, .txt or .json file, completely or not at all."""
    target = Path(path)
    suffix = check_suffix(target)
    if suffix == ".json":
        text = json.dumps(job_json(report), indent=2) + "\n"
    elif suffix == ".txt":
        text = as_text(render_job(report))
    else:
        from eventide.report.page import make_job_page

        text = make_job_page(report, job_findings(report), describe_job(report))
    write_whole(text, target)


def job_json(report: JobReport) -> dict[str, Any]:
    """The report as JSON values; times are nanoseconds."""
    return {
        "path": report.path,
        "ranks": report.ranks,
        "world_size": report.world_size,
        "findings": job_findings(report),
        "not_known": list(report.hidden),
        "clocks": {"reference": report.clocks.reference, "ranks": plain(list(report.clocks.ranks))},
        "waiting": waiting_json(report.waiting),
        "stragglers": stragglers_json(report.stragglers),
        "imbalance": plain(report.imbalance),
        "bandwidth": plain(list(report.bandwidth)),
        "critical_path": {name: value for name, value in plain(report.critical_path).items() if name != "pieces"},
    }


def waiting_json(waits: Waiting) -> dict[str, Any]:
    """Collectives and ranks."""
    rows = {"collectives": plain(list(waits.rows)), "ranks": plain(list(waits.ranks))}
    return {"waiting": waits.total, "transfer": waits.transfer, "left_out": waits.left_out, **rows}


def stragglers_json(found: Stragglers) -> dict[str, Any]:
    """The what-if, and the ranks with their causes."""
    return {
        "what_if": plain(found.what_if),
        "replay_error": found.replay_error,
        "resolved": found.resolved,
        "pattern": found.pattern,
        "pattern_rank": found.pattern_rank,
        "most_waited_for": plain(list(found.most_waited_for)),
        "stragglers": plain(list(found.stragglers)),
    }
