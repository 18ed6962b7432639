"""ProfilerResult: the trace of one profile, its table and its report."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.analysis import OperatorRow
    from eventide.profiler._averages import KeyAverages
    from eventide.profiler._events import Events
    from eventide.report import OperatorTable
    from eventide.trace import Trace

# What a table is sorted by; largest first, names alphabetically.
SORTS: dict[str, Callable[[OperatorRow], Any]] = {
    "self_time": lambda row: -row.self_time,
    "total_time": lambda row: -row.total,
    "mean_time": lambda row: -row.mean,
    "count": lambda row: -row.count,
    "flops": lambda row: -row.flops,
    "memory": lambda row: -(row.memory or 0),
    "self_memory": lambda row: -(row.self_memory or 0),
    "name": lambda row: row.name,
    # torch's names; work of devices has no CPU time
    "self_cpu_time_total": lambda row: -row.self_time * (row.on == "host"),
    "cpu_time_total": lambda row: -row.total * (row.on == "host"),
    "cpu_time": lambda row: -row.mean * (row.on == "host"),
    "key": lambda row: row.name,
    "device_time_total": lambda row: -row.total * (row.on == "device"),
    "self_device_time_total": lambda row: -row.self_time * (row.on == "device"),
    "device_time": lambda row: -row.mean * (row.on == "device"),
    "cpu_memory_usage": lambda row: -(row.memory or 0),
    "self_cpu_memory_usage": lambda row: -(row.self_memory or 0),
    "device_memory_usage": lambda row: -(row.device_memory or 0),
    "self_device_memory_usage": lambda row: -(row.self_device_memory or 0),
}
SORTS |= {  # torch's names for one vendor
    f"{own}cuda_{what}": SORTS[f"{own}device_{what}"]
    for own in ("", "self_")
    for what in ("time_total", "time", "memory_usage")
    if f"{own}device_{what}" in SORTS
}


class ProfilerResult:
    """A trace, its table and its report. It does not change."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def table(
        self,
        sort_by: str | None = "self_time",
        row_limit: int | None = 30,
        *,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
    ) -> OperatorTable:
        """One row for each name: ``print(result.table(sort_by="total_time"))``; -1 or None: all rows.

        `sort_by` is self_time, total_time, mean_time, count, flops, memory, self_memory or name, or a name of torch
        such as self_cpu_time_total, device_time_total or cpu_memory_usage.
        """
        from eventide.report import OperatorTable

        if sort_by is None:
            sort_by = "self_time"
        if sort_by not in SORTS:
            raise UsageValueError(f"a table cannot be sorted by {sort_by!r}; use one of {', '.join(SORTS)}")
        found = self.rows(group_by_input_shape=group_by_input_shape, group_by_stack_n=group_by_stack_n)
        rows = sorted(found, key=SORTS[sort_by])
        shown = len(rows) if row_limit is None or row_limit < 0 else row_limit
        return OperatorTable(tuple(rows[:shown]), tuple(rows[shown:]))

    def rows(self, *, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> tuple[OperatorRow, ...]:
        """The rows of ``eventide.analysis.operators``: largest self time first."""
        from eventide.analysis import operators

        if not isinstance(group_by_stack_n, int) or group_by_stack_n < 0:
            raise UsageValueError(f"group_by_stack_n is a number of frames, not {group_by_stack_n!r}")
        return operators(self.trace, by_shape=group_by_input_shape, by_stack=group_by_stack_n).rows

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace in the format of the suffix: .pftrace, .json, .json.gz or .parquet. As often as you like."""
        return self.trace.save(path)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Torch's name for saving as .json or .json.gz."""
        return self.save(path)

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str = "profile") -> str:
        """The text of ``eventide report``; with a path it writes a page (.html), the text or the results (.json)."""
        from eventide.report import report

        return report(self.trace, path, title=title)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,  # noqa: ARG002 - see below
    ) -> KeyAverages:
        """The rows of the table with torch's names: ``key_averages().table(sort_by="self_cpu_time_total")``.

        Names have no overloads, as in torch unless its experimental option asks for them; so these group nothing.
        """
        from eventide.profiler._averages import KeyAverages

        return KeyAverages(self, by_shape=group_by_input_shape, by_stack=group_by_stack_n)

    def events(self) -> Events:
        """Every span with torch's names, in the order of their starts."""
        from eventide.profiler._events import events_of

        return events_of(self.trace)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> Path:
        """Write self times by stack for FlameGraph, in microseconds; needs ``with_stack=True``."""
        from eventide.profiler._stacks import write_stacks

        return write_stacks(self.trace, path, metric)

    @property
    def profiler(self) -> dict[str, Any]:
        """What the profiler records about itself: window, options, steps, drops by reason, clocks, FLOPs."""
        about: dict[str, Any] = self.trace.metadata.get("profiler", {})
        return about

    def __repr__(self) -> str:
        counts = self.profiler.get("dropped", {})
        dropped = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        return f"<ProfilerResult: {self.trace!r}, dropped: {dropped or 'nothing'}>"


def empty_result(about: dict[str, Any], why: str) -> ProfilerResult:
    """The result of a profile that recorded nothing."""
    from eventide.trace import Trace

    return ProfilerResult(Trace({}, {"source": "eventide", "profiler": about, "warnings": [why]}))
