"""ProfilerResult: the trace of one profile, its table and its report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.analysis import OperatorRow
    from eventide.report import OperatorTable
    from eventide.trace import Trace

# What a table is sorted by; largest first, names alphabetically.
SORTS: dict[str, Callable[[OperatorRow], Any]] = {
    "self_time": lambda row: -row.self_time,
    "total_time": lambda row: -row.total,
    "mean_time": lambda row: -row.mean,
    "count": lambda row: -row.count,
    "flops": lambda row: -row.flops,
    "name": lambda row: row.name,
    # torch's names; work of devices has no CPU time
    "self_cpu_time_total": lambda row: -row.self_time * (row.on == "host"),
    "cpu_time_total": lambda row: -row.total * (row.on == "host"),
    "cpu_time": lambda row: -row.mean * (row.on == "host"),
    "key": lambda row: row.name,
}


class ProfilerResult:
    """A trace, its table and its report. It does not change."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def table(
        self, sort_by: str = "self_time", row_limit: int | None = 30, *, group_by_input_shape: bool = False
    ) -> OperatorTable:
        """One row for each name: ``print(result.table(sort_by="total_time"))``; -1 or None: all rows.

        `sort_by` is self_time, total_time, mean_time, count, flops or name, or torch's self_cpu_time_total,
        cpu_time_total, cpu_time or key. Other names of torch are refused: the table has no column for them.
        """
        from eventide.report import OperatorTable

        if sort_by not in SORTS:
            raise UsageValueError(f"a table cannot be sorted by {sort_by!r}; use one of {', '.join(SORTS)}")
        rows = sorted(self.rows(group_by_input_shape=group_by_input_shape), key=SORTS[sort_by])
        shown = len(rows) if row_limit is None or row_limit < 0 else row_limit
        return OperatorTable(tuple(rows[:shown]), tuple(rows[shown:]))

    def rows(self, *, group_by_input_shape: bool = False) -> tuple[OperatorRow, ...]:
        """The rows of ``eventide.analysis.operators``: largest self time first."""
        from eventide.analysis import operators

        return operators(self.trace, by_shape=group_by_input_shape).rows

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace in the format of the suffix: .pftrace, .json, .json.gz or .parquet. As often as you like."""
        return self.trace.save(path)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Torch's name for saving as .json or .json.gz."""
        return self.save(path)

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str = "profile") -> str:
        """The text of ``eventide report``; with a path it writes that text (.txt) or the results (.json) as well."""
        from eventide.report import report

        return report(self.trace, path, title=title)

    def grouped(self, *, by_shape: bool = False) -> Grouped:
        """For ``prof.key_averages(...).table(...)``, as in torch."""
        return Grouped(self, by_shape=by_shape)

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


class Grouped:
    """What torch calls key averages: rows by name, or by name and input shapes."""

    __slots__ = ("_by_shape", "_result")

    def __init__(self, result: ProfilerResult, *, by_shape: bool) -> None:
        self._result = result
        self._by_shape = by_shape

    def table(self, sort_by: str = "self_time", row_limit: int | None = 100) -> OperatorTable:
        """The table of the result."""
        return self._result.table(sort_by, row_limit, group_by_input_shape=self._by_shape)

    def __iter__(self) -> Iterator[OperatorRow]:
        return iter(self._result.rows(group_by_input_shape=self._by_shape))
