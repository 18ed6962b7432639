"""The report of a trace: as one screen of text (findings, tables, what to do next) and as JSON."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eventide._util import format as f
from eventide.analysis import cut_short
from eventide.errors import TraceFileError, UsageValueError
from eventide.report._gather import Report, gather
from eventide.report._sample_tables import sample_tables
from eventide.report._steps import is_split, phase_table, strip
from eventide.report._tables import (
    as_text,
    breakdown_table,
    edits_table,
    host_table,
    name_table,
    path_table,
    task_table,
)
from eventide.report.rules import findings, unknowns
from eventide.trace import Trace


def report(trace: Trace, path: str | os.PathLike[str] | None = None, *, title: str = "trace") -> str:
    """The text of `eventide report`; a `path` is written as well: the text (.txt), results (.json) or page (.html)."""
    suffix = check_suffix(path) if path is not None else ""
    result = gather(trace, title)
    text = as_text(render_report(result))
    if path is not None:
        write_report(trace, result, path, suffix)
    return ReportText(text)


class ReportText(str):
    """The text of a report: a prompt shows its lines, not one quoted string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")


def write_report(
    trace: Trace, result: Report, path: str | os.PathLike[str], suffix: str, *, exact: bool = False
) -> None:
    """Write the file of a report; `suffix` is that of check_suffix, `exact` is for pages."""
    if suffix == ".json":
        write_whole(json.dumps(report_json(result), indent=2, default=str) + "\n", path)
    elif suffix == ".html":
        from eventide.report.page import make_page

        write_whole(make_page(trace, result, exact=exact), path)
    else:
        write_whole(as_text(render_report(result)), path)


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of the file of a report in lower case: .html, .txt or .json; UsageValueError for others."""
    suffix = Path(path).suffix.lower()
    if suffix not in {".html", ".txt", ".json"}:
        raise UsageValueError(f"a report cannot be written as {os.fspath(path)!r}; use a .html, a .txt or a .json file")
    return suffix


def write_whole(text: str, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all; TraceFileError if it cannot be written."""
    target = Path(path)
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_text(text, "utf-8", errors="backslashreplace")
        part.replace(target)
    except OSError as error:
        with suppress(OSError):  # a file system that is read-only refuses this too
            part.unlink(missing_ok=True)
        message = f"{target} cannot be written: {error.strerror}; name another file"
        raise TraceFileError(message, error.errno or errno.EIO, str(target)) from error


def report_json(result: Report) -> dict[str, Any]:
    """The report as JSON values, without the tables of single gaps, pieces and calls."""
    whole: dict[str, Any] = {each.name: getattr(result, each.name) for each in dataclasses.fields(result)}
    whole["idle"] = {"lanes": result.idle.lanes, "worst": result.idle.worst(20)}
    path = whole.pop("path")
    whole["critical_path"] = {
        "wall": path.wall,
        "kinds": path.kinds,
        "rows": path.rows[:50],
        "next": path.next[:20],
        "inferred": path.inferred,
    }
    whole["best_edits"] = whole.pop("edits")
    syncs = result.syncs
    whole["syncs"] = {"count": syncs.count, "total": syncs.total, "table": syncs.table, "skew": syncs.skew}
    whole["memory"] = [
        {"device": each.device, "peak": each.peak, "holders": each.holders[:20]} for each in result.memory.devices
    ]
    sampled = result.samples
    whole["samples"] = {
        **{each.name: getattr(sampled, each.name) for each in dataclasses.fields(sampled)},
        "functions": sampled.functions[:200],
        "lines": sampled.lines[:200],
    }
    found = {"findings": findings(result), "not_known": unknowns(result), **whole}
    return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    """A result, or anything in one, without its private fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [each.name for each in dataclasses.fields(value) if not each.name.startswith("_")]
        derived = [name for name, member in vars(type(value)).items() if isinstance(member, property)]
        return {name: plain(getattr(value, name)) for name in (*fields, *derived)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, pa.Table):
        return value.to_pylist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


_FINDINGS, _ROWS, _DEVICES, _CODE = 5, 3, 4, 6
_WORTH = 0.05  # of the time: what can save less is found, and no reason to change the program


def render_report(report: Report) -> RenderableType:
    """The whole screen."""
    found = findings(report)[:_FINDINGS]
    parts: list[RenderableType] = [
        Text.assemble((report.title, "bold"), ": ", describe_trace(report)),
        Text(""),
        _listed([finding.text for finding in found], numbered=True),
    ]
    if report.breakdown.devices:
        several = len(report.breakdown.devices) > 1
        parts += [Text(""), breakdown_table(report.breakdown, 0 if several else 1, _DEVICES), *_causes(report)]
        parts += [Text(""), name_table(report.summary.device, _ROWS)]
    if report.summary.host:
        parts += [Text(""), host_table(report.summary, _ROWS)]
    if report.summary.tasks:
        parts += [Text(""), task_table(report.summary, _ROWS)]
    if report.path.wall and report.breakdown.devices:
        parts += [Text(""), path_table(report.path, 3)]
    parts += _edits(report)
    if is_split(report.phases) and not report.breakdown.devices:  # of devices the table above has steps
        parts += [Text(""), phase_table(report.phases)]
        parts += [Text(line) for line in strip(report.phases).splitlines()]
    for each in sample_tables(report.samples, _CODE):
        parts += [Text(""), each]
    worth = [finding.remedy for finding in found if finding.remedy and finding.weight >= _WORTH]
    remedies = [*dict.fromkeys(worth)][:2]
    for head, texts in (("Next", remedies), ("Not known", [finding.text for finding in unknowns(report)[:3]])):
        if texts:
            parts += [Text(""), Text(head, style="bold"), _listed(texts)]
    return Group(*parts)


def _edits(report: Report) -> list[RenderableType]:
    """The edits that save most; where there is no ranking, the reason."""
    if report.edits is None:
        return []
    if report.edits.rows:
        return [Text(""), edits_table(report.edits, _ROWS)]
    return [Text(""), Text(f"Best edits: {report.edits.heading}")]


def _listed(texts: list[str], *, numbered: bool = False) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for number, text in enumerate(texts, 1):
        grid.add_row(f"{number}." if numbered else "-", Text(text))
    return grid


def _causes(report: Report) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for lane in sorted(report.idle.lanes, key=lambda lane: -lane.idle)[:2]:
        if lane.idle:
            causes = sorted(lane.causes.items(), key=lambda item: -item[1])
            text = ", ".join(f"{cause} {f.percent(time, lane.idle)}" for cause, time in causes)
            lines.append(Text(f"Idle time of {lane.device}: {text}"))
    return lines


def describe_trace(report: Report) -> str:
    """What the trace is, in one line: length, devices, rank, steps, number of spans."""
    meta = report.metadata
    facts = [*(["cut short"] if cut_short(meta) else []), f.time(report.summary.wall)]
    names = {str(each.get("name")) for each in meta.get("devices") or [] if isinstance(each, dict) and each.get("name")}
    devices = [each.device for each in report.breakdown.devices]
    if devices:
        shown = ", ".join(devices[:4]) + (f" and {len(devices) - 4} more" if len(devices) > 4 else "")
        facts.append(shown + (f" ({', '.join(sorted(names))})" if names else ""))
    if meta.get("rank") is not None:
        facts.append(f"rank {meta['rank']}" + (f" of {meta['world_size']}" if meta.get("world_size") else ""))
    if report.steps:
        lengths = sorted(step.duration for step in report.steps)
        middle = f.time(lengths[len(lengths) // 2])
        facts.append(f.count(len(lengths), "step") + (f" (median {middle})" if len(lengths) > 1 else f" ({middle})"))
    if report.spans or not report.samples.count:
        facts.append(f.count(report.spans, "span"))
    if report.samples.count:
        facts.append(f.count(report.samples.count, "sample"))
    return ", ".join(facts)
