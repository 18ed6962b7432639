"""The screen at the end of `eventide run`: where the time went, what was lost, what recording cost."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from eventide._util import format as fmt
from eventide.analysis import Compile, DeviceMemory, Memory, Samples, Summary, View, compiles, memory, samples, summary
from eventide.report._answers import process_memory
from eventide.report._sample_tables import place
from eventide.report._tables import Fitted
from eventide.trace import Trace, merge

_SPANS, _FUNCTIONS, _STREAMS = 8, 6, 6  # rows of each table
_COSTS = {"recording_ns": "in the program", "drainer_cpu_ns": "beside it"}


@dataclass(frozen=True)
class RunSummary:
    """The answers that the screen shows."""

    summary: Summary
    samples: Samples
    compiles: Compile
    memory: Memory
    account: Mapping[str, Any]
    torch: Mapping[str, Any]  # account of its profiler; may be empty
    warnings: tuple[str, ...]
    processes: int = 1  # whose recordings these are


def run_summary(traces: Sequence[Trace]) -> RunSummary:
    """Ask the traces of a run: the program's is first, then those of its children. Memory is that of the first."""
    first = traces[0]
    trace = merge(traces) if len(traces) > 1 and _on_one_clock(traces) else first
    view = View(trace)
    pid = first.metadata.get("pid")  # one that has become another program has two recordings
    of_program = memory(View(next((one for one in traces[1:] if one.metadata.get("pid") == pid), first)))
    warnings = tuple(map(str, trace.metadata.get("warnings", ())))
    account = trace.metadata.get("account", {})
    torch = trace.metadata.get("torch", {})
    number = len({one.metadata.get("pid") for one in traces})
    return RunSummary(summary(view), samples(view), compiles(view), of_program, account, torch, warnings, number)


def _on_one_clock(traces: Sequence[Trace]) -> bool:
    """Ranks of other hosts may write into the same folder."""
    return len({trace.metadata.get("process", {}).get("host") for trace in traces}) == 1


def show_run(run: RunSummary, ended: str, files: Sequence[str], dumps: Sequence[str], console: Console) -> None:
    """Print the screen."""
    console.print(f"eventide: {ended}", highlight=False)
    for table in (_spans(run.summary), _functions(run), _streams(run.summary)):
        if table.rows:
            console.print(table)
    for line in (*_lines(run), *_account(run.account), *_warnings(run.warnings)):
        console.print(line, highlight=False, markup=False)
    for what, file in (*(("written", file) for file in files), *(("dumped", file) for file in dumps)):
        console.print(f"{what}: {file}{_size(Path(file))}", highlight=False, markup=False, soft_wrap=True)
    for line in next_commands([*files, *dumps]):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _size(written: Path) -> str:
    return f" ({fmt.size(written.stat().st_size)})" if written.is_file() else ""


def next_commands(files: Sequence[str]) -> list[str]:
    """How to look closer at the first recording, as lines to copy: they are not wrapped."""
    if not files:
        return []
    name = shlex.quote(files[0])
    page = shlex.quote(f"{files[0].removesuffix('/').removesuffix('.eventide')}.html")
    return [
        f"look closer:       eventide report {name}",
        f"as a page:         eventide report {name} -o {page}",
        f"as a timeline:     eventide view {name}",
        "a page next time:  eventide run --open, or --report FILE.html",
    ]


def _spans(found: Summary) -> Fitted:
    rows = [row for row in (*found.host, *found.device) if row.category != "sample"]
    rows.sort(key=lambda row: -row.self_time)
    cells = [
        (fmt.name(row.name), row.category, f"{row.count:,}", fmt.time(row.total), fmt.time(row.self_time))
        for row in rows[:_SPANS]
    ]
    return Fitted(("spans", "category", "count", "total", "self"), cells, 2)


def _functions(run: RunSummary) -> Fitted:
    rows = [row for row in run.samples.functions if row.self_time][:_FUNCTIONS]
    cells = [(fmt.name(row.function), place(row), *map(fmt.time, (row.self_running, row.self_waiting))) for row in rows]
    whose = "of the program's code" if run.processes == 1 else f"in {run.processes:,} processes"
    heads = (f"{fmt.count(run.samples.count, 'sample')} {whose}", "most at", "ran", "waited")
    return Fitted(heads, cells, 2)


def _streams(found: Summary) -> Fitted:
    cells = [
        (
            row.stream,
            row.device,
            f"{row.count:,}",
            fmt.time(row.busy),
            fmt.percent(row.busy, row.wall),
            fmt.time(row.idle),
        )
        for row in sorted(found.streams, key=lambda row: -row.busy)[:_STREAMS]
    ]
    return Fitted(("streams", "device", "work", "busy", "", "idle"), cells, 2)


def _lines(run: RunSummary) -> list[str]:
    lines = []
    if run.samples.imports:
        first = run.samples.imports[0]
        lines.append(f"imports: {fmt.time(run.samples.import_time)}, most in {first.module} ({fmt.time(first.time)})")
    lines += (
        [f"synchronizations: {run.summary.sync_count:,}, the host blocked {fmt.time(run.summary.sync_time)}"]
        if run.summary.sync_count
        else []
    )
    if run.compiles.count:
        lines.append(f"compiles: {run.compiles.count:,}, {fmt.time(run.compiles.time)}")
    if "operators" in run.torch:
        lines.append(_torch(run.torch))
    lines += [f"memory of the {line}" for line in process_memory(run.memory)]
    held = [one for one in run.memory.devices if one.device != "device"]  # arrays of the host have none
    beside = " while recorded" if run.memory.process else ""
    lines += [
        f"memory that frameworks allocated on {one.device}{beside}: {fmt.size(one.peak)} at the peak{_holder(one)}"
        for one in held[:3]
    ]
    if run.summary.unfinished:
        lines.append(f"{fmt.count(run.summary.unfinished, 'span')} had not ended when the recording did")
    return lines


def _holder(device: DeviceMemory) -> str:
    if not device.holders:
        return ""
    first = device.holders[0]
    return f", most held by {fmt.name(first.line or first.name)} ({fmt.size(first.bytes)})"


def _torch(account: Mapping[str, Any]) -> str:
    parts = [f"torch's operators: {account['operators']:,}"]
    if account["on_devices"]:
        parts.append(f"{account['on_devices']:,} device activities")
    if account["imported"]:
        parts.append(f"{fmt.count(account['imported'], 'profile')} of the program's own among them")
    harvest = f"; {fmt.time(account['harvest_ns'])} to read the buffer of its profiler" if account["harvest_ns"] else ""
    return f"{', '.join(parts)}{harvest}"


def _account(account: Mapping[str, Any]) -> list[str]:
    recorded, dropped, truncated = (_total(account.get(key)) for key in ("recorded", "dropped", "truncated"))
    overhead = account.get("overhead", {})
    spent = [f"{fmt.time(overhead[key])} {where}" for key, where in _COSTS.items() if key in overhead]
    cost = f"; recording cost about {' and '.join(spent)}" if spent else ""
    return [f"recorded {fmt.count(recorded, 'record')}, dropped {dropped:,}, truncated {truncated:,}{cost}"]


def _total(counts: Any) -> int:
    """Of a count, or of counts by kind."""
    return sum(_total(count) for count in counts.values()) if isinstance(counts, Mapping) else int(counts or 0)


def _warnings(warnings: Sequence[str]) -> list[str]:
    more = [f"... and {len(warnings) - 3} more warnings"] if len(warnings) > 3 else []
    return [f"warning: {warning}" for warning in warnings[:3]] + more
