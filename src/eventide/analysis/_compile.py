"""What was compiled, how often, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._intervals import union
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, json_of, line_of, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class CompileRow:
    """All compiles of one name. `outermost` leaves out what ran inside another compile, so these sum to the total.

    The stages of one compile of JAX count as one; tracing alone, such as that of a nested function, does not count.
    """

    name: str
    trigger: str | None
    count: int
    total: int
    outermost: int
    longest: int
    line: str | None
    reasons: tuple[str, ...]  # why it was compiled again, each once, as the framework says it


@dataclass(frozen=True, repr=False)
class Compile(show.Result):
    """`time` is the time in which at least one compiler ran, over all threads."""

    start: int
    wall: int
    count: int
    time: int
    table: tuple[CompileRow, ...]
    recompiles: int

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "trigger": show.text,
        "count": show.number,
        "outermost": show.time,
        "total": show.time,
        "longest": show.time,
        "line": show.text,
    }
    _row: ClassVar[type] = CompileRow

    def _rows(self) -> tuple[CompileRow, ...]:
        return self.table

    def _heading(self) -> str:
        return f"{f.count(self.count, 'compile')}, {f.time(self.time)} of {f.time(self.wall)}"


def compiles(trace: Trace | View) -> Compile:
    """Add up the compiles of a trace by name."""
    view = view_of(trace)
    start, end = view.window
    rows = np.flatnonzero(view.in_categories("compile"))
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    low, high, _ = union(view.start[rows], view.end[rows])
    inner = _inside_another(view, rows)
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows.tolist()):
        groups.setdefault(view.word(row), []).append(index)
    args = [json_of(text) for text in view.trace.spans.column("args").take(pa.array(rows)).to_pylist()]
    identity = [_identity(view, row, about) for row, about in zip(rows.tolist(), args, strict=True)]
    table = [
        _row(view, name, rows[indices], inner[indices], [(args[index], identity[index]) for index in indices])
        for name, indices in groups.items()
    ]
    again = sum(about.get("recompile") is True for about in args)
    ordered = tuple(sorted(table, key=lambda row: -row.outermost))
    return Compile(start, end - start, _count(identity), int((high - low).sum()), ordered, again)


def phase_of(args: Mapping[str, Any]) -> str | None:
    """The stage of a compile that a span is; None: the whole compile."""
    details = args.get("details")
    phase = details.get("phase") if isinstance(details, dict) else None
    return None if phase is None else str(phase)


def _identity(view: View, row: int, args: dict[str, Any]) -> Any:
    """Spans with the same value are of one compile; None: no compile of its own."""
    phase = phase_of(args)
    if phase is None:
        return row
    return None if phase == "trace" else (int(view.track[row]), args.get("id"))


def _count(identities: list[Any]) -> int:
    return len({each for each in identities if each is not None})


def _row(view: View, name: str, rows: Ints, inner: Ints, about: list[tuple[dict[str, Any], Any]]) -> CompileRow:
    length = view.duration[rows]
    args = [each for each, _ in about]
    trigger = args[0].get("trigger") or args[0].get("callback_trigger")
    reasons = tuple(dict.fromkeys(str(each["reason"]) for each in args if each.get("reason")))
    count = _count([identity for _, identity in about])
    line = next((line for row in rows.tolist() if (line := line_of(view, int(view.stack[row])))), None)
    trigger = None if trigger is None else str(trigger)
    numbers = (count, int(length.sum()), int(length[inner == 0].sum()), int(length.max()))
    return CompileRow(name, trigger, *numbers, line, reasons)


def _inside_another(view: View, rows: Ints) -> Ints:
    """1 for a compile inside another one on its thread."""
    compiling = np.zeros(view.count, np.int64)
    compiling[rows] = 1
    inside = np.zeros(view.count, np.int64)
    for nest in nests_of(view).values():
        here = np.flatnonzero(compiling[nest.rows])
        for index in here.tolist():  # compiles are few
            parent = int(nest.parent[index])
            while parent >= 0 and not compiling[nest.rows[parent]]:
                parent = int(nest.parent[parent])
            inside[nest.rows[index]] = int(parent >= 0)
    return inside[rows]
