"""What was compiled, how often, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._idle_rows import line_of
from eventide.analysis._intervals import union
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, json_of, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class CompileRow:
    """All compiles of one name. `outermost` leaves out what ran inside another compile, so these sum to the total."""

    name: str
    trigger: str | None
    count: int
    total: int
    outermost: int
    longest: int
    line: str | None


@dataclass(frozen=True)
class Compile:
    """`time` is the time in which at least one compiler ran, over all threads."""

    start: int
    wall: int
    count: int
    time: int
    table: tuple[CompileRow, ...]


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
    table = [_row(view, name, rows[indices], inner[indices]) for name, indices in groups.items()]
    return Compile(
        start, end - start, len(rows), int((high - low).sum()), tuple(sorted(table, key=lambda row: -row.outermost))
    )


def _row(view: View, name: str, rows: Ints, inner: Ints) -> CompileRow:
    length = view.duration[rows]
    args = json_of(view.trace.spans.column("args")[int(rows[0])].as_py())
    trigger = args.get("trigger") or args.get("callback_trigger")
    line = next((line for row in rows.tolist() if (line := line_of(view, int(view.stack[row])))), None)
    trigger = None if trigger is None else str(trigger)
    numbers = (len(rows), int(length.sum()), int(length[inner == 0].sum()), int(length.max()))
    return CompileRow(name, trigger, *numbers, line)


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
