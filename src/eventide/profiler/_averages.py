"""Rows with the names of torch.profiler, for programs that were written for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import os

    from eventide.analysis import OperatorRow
    from eventide.profiler._result import ProfilerResult
    from eventide.report import OperatorTable


class KeyAverage:
    """One row of ``key_averages()``: the names of torch's FunctionEventAvg; times are microseconds, memory is bytes."""

    __slots__ = ("row",)

    def __init__(self, row: OperatorRow) -> None:
        self.row = row  # the same with our names, times in nanoseconds

    def _host(self, nanoseconds: float) -> float:
        return nanoseconds / 1000 if self.row.on == "host" else 0.0

    def _device(self, nanoseconds: float) -> float:
        return nanoseconds / 1000 if self.row.on == "device" else 0.0

    key = property(lambda self: self.row.name, doc="The name.")
    overload_name = property(lambda self: "", doc="Names have no overloads, as in torch by default.")  # noqa: ARG005
    count = property(lambda self: self.row.count, doc="How many spans.")
    flops = property(lambda self: self.row.flops, doc="Floating-point operations, if they were requested.")
    device_type = property(lambda self: "CPU" if self.row.on == "host" else "device", doc="Where they ran.")
    is_user_annotation = property(
        lambda self: self.row.category in {"annotation", "span", "step"}, doc="Not an operator."
    )
    input_shapes = property(lambda self: self.row.shapes or "", doc="The input shapes of the group, as JSON.")
    stack = property(lambda self: list(self.row.stack), doc="The frames of the group, innermost first.")
    cpu_time = property(lambda self: self._host(self.row.mean), doc="The mean.")
    cpu_time_total = property(lambda self: self._host(self.row.total), doc="With spans inside; recursion counts once.")
    self_cpu_time_total = property(lambda self: self._host(self.row.self_time), doc="Without spans inside.")
    device_time = property(lambda self: self._device(self.row.mean), doc="The mean.")
    device_time_total = property(lambda self: self._device(self.row.total), doc="Work of devices.")
    self_device_time_total = property(lambda self: self._device(self.row.self_time), doc="Work of devices.")
    cpu_memory_usage = property(lambda self: self.row.memory or 0, doc="Allocated less freed, of the host.")
    self_cpu_memory_usage = property(lambda self: self.row.self_memory or 0, doc="Without spans inside.")
    device_memory_usage = property(lambda self: self.row.device_memory or 0, doc="Allocated less freed, of devices.")
    self_device_memory_usage = property(lambda self: self.row.self_device_memory or 0, doc="Without spans inside.")

    def __repr__(self) -> str:
        return f"<KeyAverage {self.key!r}, {self.count} x, self {self.self_cpu_time_total:.3f} us>"


class KeyAverages(Sequence[KeyAverage]):
    """What torch calls key averages: rows by name, largest self time first."""

    __slots__ = ("_by_shape", "_by_stack", "_result", "_rows")

    def __init__(self, result: ProfilerResult, *, by_shape: bool = False, by_stack: int = 0) -> None:
        self._result = result
        self._by_shape = by_shape
        self._by_stack = by_stack
        found = result.rows(group_by_input_shape=by_shape, group_by_stack_n=by_stack)
        self._rows = tuple(KeyAverage(row) for row in found)

    def table(self, sort_by: str | None = None, row_limit: int | None = 100) -> OperatorTable:
        """The table of the result; without `sort_by` largest self time first."""
        return self._result.table(
            sort_by, row_limit, group_by_input_shape=self._by_shape, group_by_stack_n=self._by_stack
        )

    @property
    def self_cpu_time_total(self) -> float:
        """The sum over all rows, in microseconds."""
        return float(sum(row.self_cpu_time_total for row in self._rows))

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Save the trace."""
        return self._result.save(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> Path:
        """Write self times by stack for FlameGraph."""
        return self._result.export_stacks(path, metric)

    @overload
    def __getitem__(self, index: int) -> KeyAverage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[KeyAverage, ...]: ...
    def __getitem__(self, index: int | slice) -> KeyAverage | tuple[KeyAverage, ...]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return str(self.table())
