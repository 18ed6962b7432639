"""ProfilerResult: what one profile saw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide.profiler._table import ResultTable, human_time, rows

if TYPE_CHECKING:
    from eventide.profiler._table import Row
    from eventide.trace import Trace


class ProfilerResult:
    """A trace, and the views of it that people ask for first. It does not change."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def table(
        self, sort_by: str = "self_time", row_limit: int | None = 30, *, group_by_input_shape: bool = False
    ) -> ResultTable:
        """One row for each name: ``print(result.table(sort_by="total_time"))``."""
        return ResultTable(self.trace, sort_by=sort_by, row_limit=row_limit, by_shape=group_by_input_shape)

    def rows(self, *, group_by_input_shape: bool = False) -> list[Row]:
        """The table's rows as objects, in no order."""
        return rows(self.trace, by_shape=group_by_input_shape)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace in the format of the suffix: .pftrace, .json, .json.gz or .parquet. As often as you like."""
        return self.trace.save(path)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Torch's name for saving as .json or .json.gz."""
        return self.save(path)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The account and the table as text; written to `path` as well if given."""
        text = "\n".join([*self._account(), "", str(self.table()), ""])
        if path is not None:
            Path(path).write_text(text, "utf-8", errors="backslashreplace")
        return text

    def grouped(self, *, by_shape: bool = False) -> Grouped:
        """For ``prof.key_averages(...).table(...)``, as in torch."""
        return Grouped(self, by_shape=by_shape)

    @property
    def profiler(self) -> dict[str, Any]:
        """What the profiler says about itself: window, options, steps, drops by reason, clocks, FLOPs."""
        about: dict[str, Any] = self.trace.metadata.get("profiler", {})
        return about

    def _account(self) -> list[str]:
        about = self.profiler
        begin, end = about.get("window", (0, 0))
        lines = [f"Eventide profile: {human_time(end - begin)}, {self.trace!r}"]
        dropped = ", ".join(f"{count} {reason}" for reason, count in about.get("dropped", {}).items() if count)
        lines.append(f"dropped: {dropped or 'nothing'}")
        lines += [f"note: {text}" for text in self.trace.metadata.get("warnings", [])]
        if "flops" in about:
            lines.append(f"FLOPs: {about['flops']['forward']:,} forward, {about['flops']['backward']:,} backward")
        return lines

    def __repr__(self) -> str:
        return f"<ProfilerResult: {self.trace!r}>"


def nothing(about: dict[str, Any], why: str) -> ProfilerResult:
    """The result of a profile that recorded nothing."""
    from eventide.trace import Trace

    return ProfilerResult(Trace({}, {"source": "eventide", "profiler": about, "warnings": [why]}))


class Grouped:
    """What torch calls key averages: rows by name, or by name and input shapes."""

    __slots__ = ("_by_shape", "_result")

    def __init__(self, result: ProfilerResult, *, by_shape: bool) -> None:
        self._result = result
        self._by_shape = by_shape

    def table(self, sort_by: str = "self_time", row_limit: int | None = 100) -> ResultTable:
        """The table of the result."""
        return self._result.table(sort_by, row_limit, group_by_input_shape=self._by_shape)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._result.rows(group_by_input_shape=self._by_shape))
