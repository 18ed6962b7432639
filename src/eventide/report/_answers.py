"""Each answer as text, alone: what `eventide trace <answer>` shows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from eventide._util import format as f
from eventide.analysis import (
    CAUSES,
    Breakdown,
    Comparison,
    Compile,
    CriticalPath,
    Delta,
    DeviceMemory,
    Idle,
    Lint,
    Memory,
    Result,
    Summary,
    Syncs,
)
from eventide.report._tables import Fitted, breakdown_table, host_table, name_table, path_table, table, task_table

_PROCESSES = 8  # of a run, whose memory is shown
NO_DEVICE = "The trace has no device work, so nothing is known about a device being busy or idle."


def render_summary(result: Summary, most: int = 25) -> RenderableType:
    """Tables of device work, host code and streams."""
    parts: list[RenderableType] = [Text(f"{f.time(result.wall)} in all"), Text("")]
    if result.device:
        parts += [name_table(result.device, most), Text("")]
        rows = [
            [
                row.device,
                row.stream,
                f"{row.count:,}",
                f.time(row.busy),
                f.percent(row.busy, row.wall),
                f.time(row.idle),
            ]
            for row in result.streams
        ]
        parts += [table("Device", ("stream", "work items", "busy", "of wall", "idle"), rows, 2), Text("")]
    else:
        parts += [Text(NO_DEVICE), Text("")]
    if result.host:
        parts += [host_table(result, most), Text("")]
    elif not result.tasks:
        parts.append(Text("No span of the host was recorded; sampled stacks are in `eventide report`."))
    if result.tasks:
        parts += [task_table(result, most), Text("")]
    rows = [
        [row.thread, f"{row.count:,}", f.time(row.recorded), f.time(row.unrecorded), f.time(row.blocked)]
        for row in result.threads[:most]
    ]
    if rows:
        parts.append(table("Host thread", ("spans", "recorded", "not recorded", "blocked"), rows))
    if result.sync_count:
        parts.append(Text(f"{f.count(result.sync_count, 'synchronization')}, {f.time(result.sync_time)} in all"))
    return Group(*parts)


def render_breakdown(result: Breakdown) -> RenderableType:
    """A row for each device: what ran, and idle time."""
    if not result.devices:
        return Text(f"{f.time(result.wall)} in all. {NO_DEVICE}")
    notes = []
    for device in result.devices:
        whole = device.whole
        total = whole.any_of("communication")
        if total:
            hidden = f.percent(whole.hidden_communication, total)
            notes.append(Text(f"{device.device}: {hidden} of {f.time(total)} communication ran beside other work"))
        notes += [Text(f"{device.device}: {kinds} at once for {f.time(time)}") for kinds, time in whole.overlap.items()]
        between = f.percent(device.idle_between, device.last - device.first)
        notes.append(Text(f"{device.device}: idle {between} of the time between its first and its last work"))
    return Group(breakdown_table(result), Text(""), *notes)


def render_idle(result: Idle, most: int = 15) -> RenderableType:
    """Shares of the causes of idle time for each device, and the longest gaps."""
    if not result.lanes:
        return Text(f"{f.time(result.wall)} in all. {NO_DEVICE}")
    rows = []
    for lane in result.lanes:
        where = lane.device if lane.stream is None else f"{lane.device} stream {lane.stream}"
        rows.append([where, "", f.time(lane.idle), f.percent(lane.idle, lane.wall), f"{lane.gaps:,}"])
        for cause, time in sorted(lane.causes.items(), key=lambda item: -item[1]):
            rows.append([f"  {cause}", CAUSES[cause], f.time(time), f.percent(time, lane.idle), ""])
    parts: list[RenderableType] = [table("Idle", ("meaning", "time", "share", "gaps"), rows, 2), Text("")]
    cells = [
        [
            f.name(gap.next_work or "(the end)", 34),
            gap.cause,
            f.name(gap.line or gap.host_op or gap.waited_for or "-", 36),
            f.time(gap.start - result.start),
            f.time(gap.duration),
        ]
        for gap in result.worst(most)
    ]
    parts.append(table("Longest gaps: before", ("mostly", "host in / waited for", "at", "gap"), cells, 3))
    return Group(*parts)


def skew_sentence(result: Syncs) -> str:
    """How far the times of host and device are apart."""
    return (
        f"Work that a call waited for ends up to {f.time(result.skew)} after the call (clock skew, or the driver's "
        "buffers)."
    )


def render_syncs(result: Syncs, most: int = 15) -> RenderableType:
    """How long the host blocked, in which calls."""
    if not result.count:
        return Text("The trace holds no call that blocked the host until a device was done.")
    rows = [
        [f.name(row.name, 40), f.name(row.inside or "-", 40), f"{row.count:,}", f.time(row.total), f.time(row.longest)]
        for row in result.table[:most]
    ]
    longest = sorted(result.each, key=lambda sync: -sync.duration)[:most]
    cells = [
        [
            f.name(sync.name, 28),
            f.name(sync.waited_for or "not known", 32),
            sync.stream or "-",
            f.time(sync.start - result.start),
            f.time(sync.duration),
            f.time(sync.waited) if sync.waited is not None else "-",
        ]
        for sync in longest
    ]
    said = f"The host blocked {f.count(result.count, 'time')} for {f.time(result.total)}."
    if result.skew:
        said += f" {skew_sentence(result)}"
    head = Text(said)
    parts: list[RenderableType] = [head, Text("")]
    parts += [table("Synchronization", ("inside", "count", "total", "longest"), rows, 2), Text("")]
    return Group(*parts, table("Longest", ("waited for", "on", "at", "blocked", "for it"), cells, 3))


_MEANINGS = {"RSS": "resident memory", "heap": "allocated by malloc"}


def process_memory(result: Memory) -> list[str]:
    """The memory of the process as a whole, then that what frameworks reported is a part of it."""
    lines = []
    by_source: dict[str, list[DeviceMemory]] = {}
    for each in result.process:
        by_source.setdefault(each.source, []).append(each)
    largest = [sorted(rows, key=lambda one: -one.peak) for rows in by_source.values()]
    for each in (one for rows in largest for one in rows[:_PROCESSES]):
        grew = f"{'grew' if each.growth >= 0 else 'shrank'} by {f.size(abs(each.growth))}"
        name = f"{each.source} ({_MEANINGS[each.source]})" if each.source in _MEANINGS else each.source
        lines.append(f"{each.device}, {name}: {f.size(each.peak)} at the peak, {f.size(each.end)} at the end, {grew}")
    if (more := max((len(rows) for rows in largest), default=0) - _PROCESSES) > 0:
        lines.append(f"and {more:,} more, which are smaller")
    return lines


def render_memory(result: Memory, most: int = 10) -> RenderableType:
    """The peak of each device and of the process, and what held it."""
    if not result.devices and not result.process:
        return Text(
            "The trace holds no allocations and no memory counters; record with profile_memory=True "
            "(torch.profiler, eventide.profile)."
        )
    parts: list[RenderableType] = [*(Text(line) for line in process_memory(result)), Text("")]
    for device in result.devices:
        rows = [
            [
                f.name(holder.line or holder.name, 60),
                f"{holder.count:,}",
                f.size(holder.bytes),
                f.percent(holder.bytes, device.peak),
            ]
            for holder in device.holders[:most]
        ]
        at = device.peak_time - result.origin
        when = f"at {f.time(at)}" if at >= 0 else f"{f.time(-at)} before the first span"
        head = f"{device.device} ({device.source}): peak {f.size(device.peak)} {when}, {f.size(device.end)} at the end"
        if device.allocations:
            head += f"; {f.count(device.allocations, 'allocation')}, {f.count(device.frees, 'free')}"
        parts.append(Text(head))
        if rows:
            parts.append(table("Held at the peak by", ("blocks", "size", "share"), rows))
        parts.append(Text(""))
    return Group(*(parts[1:-1] if not result.process else parts[:-1]))


def render_compile(result: Compile, most: int = 20) -> RenderableType:
    """What was compiled, how often and for how long."""
    if not result.count:
        return Text("The trace holds no compiles.")
    rows = [
        [
            f.name(row.name, 60),
            row.trigger or "-",
            f"{row.count:,}",
            f.time(row.outermost),
            f.time(row.total),
            f.time(row.longest),
        ]
        for row in result.table[:most]
    ]
    share = f.percent(result.time, result.wall)
    head = f"{f.count(result.count, 'compile')}, {f.time(result.time)} ({share} of the trace)"
    parts: list[RenderableType] = [
        Text(head),
        Text(""),
        table("Compile", ("trigger", "count", "outermost", "total", "longest"), rows, 2),
    ]
    again = [f"{f.name(row.name, 60)}: {reason}" for row in result.table for reason in row.reasons]
    if again:
        parts += [Text(""), Text("Compiled again because", style="bold"), *(Text(line) for line in again[:most])]
    return Group(*parts)


def render_path(result: CriticalPath, most: int = 25) -> RenderableType:
    """The kinds and names that the critical path consists of."""
    if not result.wall:
        return Text("The trace has no time in it, so there is no path.")
    kinds = ", ".join(f"{f.percent(time, result.wall)} {kind}" for kind, time in result.kinds.items())
    parts: list[RenderableType] = [Text(f"{f.time(result.wall)}: {kinds}"), Text(""), path_table(result, most)]
    if result.next:
        rows = [
            [f.name(row.name, 60), row.where, f.time(row.slack), f.time(row.total), f"{row.count:,}"]
            for row in result.next[:8]
        ]
        parts += [Text(""), table("Critical next", ("where", "slack", "total", "count"), rows, 2)]
    return Group(*parts)


def render_lint(result: Lint) -> RenderableType:
    """A paragraph a finding: how many, of how many, the first one, and what it means."""
    if not result.findings:
        return Text(f"Nothing odd: {len(result.rules)} rules looked at the trace.")
    parts: list[RenderableType] = []
    for finding in result.findings:
        of = f" of {finding.checked:,}" if finding.checked is not None else ""
        parts.append(Text.assemble((f"{finding.count:,}{of} ", "bold"), (finding.rule, "bold")))
        if finding.example:
            parts.append(
                Text(f"  such as {finding.example}" if finding.checked is not None else f"  {finding.example}")
            )
        parts += [Text(f"  {finding.meaning}", style="dim"), Text("")]
    clean = [rule for rule in result.rules if rule not in {finding.rule for finding in result.findings}]
    parts.append(Text(f"Nothing found: {', '.join(clean)}." if clean else "Every rule found something."))
    return Group(*parts)


def render_result(result: Result, most: int = 20) -> RenderableType:
    """Any result: its heading, and its first rows with the columns that it prints."""
    heads, rows, texts = result.cells(most)
    parts: list[RenderableType] = [Text(result.heading)]
    if rows:
        parts += [Text(""), Fitted(heads, rows, texts)]
    if (left := result.to_arrow().num_rows - len(rows)) > 0 and rows:
        parts.append(Text(f"and {f.count(left, 'more row')}; -n {most + left} shows all", style="dim"))
    return Group(*parts)


def render_comparison(result: Comparison, most: int = 10) -> RenderableType:
    """What became longer or shorter: parts, names, steps."""
    head = f"{f.time(result.wall_a)} became {f.time(result.wall_b)}: {signed(result.difference)}"
    if result.wall_a:
        head += f" ({result.difference / result.wall_a:+.1%})"
    parts: list[RenderableType] = [Text(f"Not alike: {warning}", style="yellow") for warning in result.warnings]
    parts += [Text(head), Text("")]
    device = result.device_b or result.device_a
    where = f" of {device}" if device else ""
    parts.append(_deltas(f"The difference, by time{where}", result.parts, len(result.parts), counts=False))
    for title, rows in (("Device work", result.device), ("Host code, self time", result.host)):
        if rows:
            parts += [Text(""), _deltas(title, rows, most, counts=True)]
    parts += _operators(result, most)
    if result.steps:
        cells = [
            [
                pair.b.name if pair.b else pair.a.name if pair.a else "",
                f.time(pair.a.duration) if pair.a else "-",
                f.time(pair.b.duration) if pair.b else "-",
                signed(pair.b.duration - pair.a.duration) if pair.a and pair.b else "-",
            ]
            for pair in result.steps[:most]
        ]
        parts += [Text(""), table("Step", ("before", "after", "difference"), cells)]
    return Group(*parts)


def _operators(result: Comparison, most: int) -> list[RenderableType]:
    """Operators by the difference of their kernels' time, and which launch other kernels."""
    if not result.operators:
        return []
    rows = [
        [each.name, f"{each.count_a:,}", f"{each.count_b:,}", f.time(each.a), f.time(each.b), signed(each.difference)]
        for each in result.operators[:most]
    ]
    parts: list[RenderableType] = [
        Text(""),
        table("Operators, time of their kernels", ("kernels", "kernels", "before", "after", "difference"), rows),
    ]
    for each in [each for each in result.operators if each.changed][:3]:
        one, other = (f.name(kernels[0], 60) for kernels in (each.kernels_a, each.kernels_b))
        text = f"{each.name} launches other kernels"
        parts.append(Text(f"{text}: most time in {one} before, in {other} after" if one != other else text))
    return parts


def _deltas(title: str, deltas: Sequence[Delta], most: int, *, counts: bool) -> Fitted:
    rows = []
    for each in deltas[:most]:
        count = [f"{each.count_a:,}", f"{each.count_b:,}"] if counts else []
        rows.append(
            [f.name(each.name, 60), each.category, *count, f.time(each.a), f.time(each.b), signed(each.difference)]
        )
    if rest := deltas[most:]:
        blank = ["", ""] if counts else []
        times = (sum(each.a for each in rest), sum(each.b for each in rest))
        rows.append(
            [f"{len(rest):,} more", "", *blank, f.time(times[0]), f.time(times[1]), signed(times[1] - times[0])]
        )
    total = (sum(each.a for each in deltas), sum(each.b for each in deltas))
    blank = ["", ""] if counts else []
    rows.append(["all", "", *blank, f.time(total[0]), f.time(total[1]), signed(total[1] - total[0])])
    heads = ("count", "count") if counts else ()
    return table(title, ("kind", *heads, "before", "after", "difference"), rows, 2)


def signed(nanoseconds: int) -> str:
    return f"{'+' if nanoseconds > 0 else ''}{f.time(nanoseconds)}"
