"""The table of a profile: one row for each name, as torch.profiler's users know it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from rich.table import Table

    from eventide.trace import Trace

SORTS = ("self_time", "total_time", "count", "mean_time", "flops", "name")
_TORCHS = {
    "self_cpu_time_total": "self_time",
    "cpu_time_total": "total_time",
    "cpu_time": "mean_time",
    "self_cuda_time_total": "self_time",
    "cuda_time_total": "total_time",
    "flops": "flops",
}


@dataclass
class Row:
    """All spans of one name and category. Times in nanoseconds."""

    name: str
    category: str
    count: int = 0
    self_time: int = 0
    total_time: int = 0
    flops: int = 0
    modules: set[str] = field(default_factory=set)
    shapes: str = ""

    @property
    def mean_time(self) -> float:
        """Total time of one."""
        return self.total_time / self.count


def rows(trace: Trace, *, by_shape: bool = False) -> list[Row]:
    """One row for each name and category, and for each of their input shapes if asked."""
    from eventide.profiler._self_time import self_times

    spans = trace.spans
    own = self_times(spans).tolist()
    found: dict[tuple[str, str, str], Row] = {}
    columns = zip(
        spans["name"].to_pylist(),
        spans["category"].to_pylist(),
        spans["duration"].to_pylist(),
        spans["args"].to_pylist(),
        own,
        strict=True,
    )
    for name, category, duration, text, self_time in columns:
        args: dict[str, Any] = json.loads(text) if text and ("flops" in text or "shapes" in text) else {}
        shapes = json.dumps(args.get("shapes", "")) if by_shape else ""
        row = found.setdefault((name, category, shapes), Row(name or "", category or "", shapes=shapes))
        row.count += 1
        row.self_time += self_time
        row.total_time += duration or 0
        row.flops += args.get("flops") or 0
    return list(found.values())


class ResultTable:
    """The rows, most first. ``print(table)`` shows it; rich shows it as wide as the terminal."""

    def __init__(
        self, trace: Trace, *, sort_by: str = "self_time", row_limit: int | None = 30, by_shape: bool = False
    ) -> None:
        key = _TORCHS.get(sort_by, sort_by)
        if key not in SORTS:
            raise UsageValueError(f"cannot sort by {sort_by!r}; there are {', '.join(SORTS)}")
        everything = rows(trace, by_shape=by_shape)
        everything.sort(key=lambda row: row.name)
        if key != "name":
            everything.sort(key=lambda row: getattr(row, key), reverse=True)
        self.rows = everything if row_limit is None or row_limit < 0 else everything[:row_limit]
        self.left_out = len(everything) - len(self.rows)
        self.total = sum(row.self_time for row in everything)
        self.sort_by = key
        self._account = trace.metadata.get("account", {})

    def __rich__(self) -> Table:
        from rich import box
        from rich.table import Table

        flops = any(row.flops for row in self.rows)
        shapes = any(row.shapes not in {"", '""'} for row in self.rows)
        table = Table(box=box.SIMPLE_HEAD, caption=self._caption(), caption_justify="left")
        table.add_column("name", overflow="ellipsis", no_wrap=True, ratio=1)
        table.add_column("category")
        for head in ("self", "self %", "total", "mean", "count", *(["flops"] if flops else [])):
            table.add_column(head, justify="right", no_wrap=True)
        if shapes:
            table.add_column("input shapes", overflow="ellipsis")
        for row in self.rows:
            share = f"{100 * row.self_time / self.total:.1f}" if self.total else "-"
            times = (human_time(row.self_time), share, human_time(row.total_time), human_time(row.mean_time))
            more = ([human_count(row.flops)] if flops else []) + ([row.shapes] if shapes else [])
            table.add_row(_visible(row.name), row.category, *times, str(row.count), *more)
        return table

    def _caption(self) -> str:
        left = f"{self.left_out} more rows not shown. " if self.left_out else ""
        return f"{left}Self time of all rows: {human_time(self.total)}."

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        text = StringIO()
        Console(file=text, width=120, color_system=None).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def human_time(ns: float) -> str:
    """1.234 ms."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns:.0f} ns"


def human_count(number: float) -> str:
    """12.3 G."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return f"{number:.0f}"


def _visible(name: str) -> str:
    """A name as it can stand in one line of a terminal: no control characters, and no markup of rich."""
    from rich.markup import escape

    return escape("".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name))
