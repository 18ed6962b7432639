"""Launches of CUDA and HIP graphs as units: one call, all the work that it launched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import launches_of
from eventide.analysis._intervals import union
from eventide.analysis._view import Ints, View, grouped, view_of
from eventide.analysis.metrics._args import arg_numbers
from eventide.trace import Trace

_LAUNCH = re.compile(r"GraphLaunch|command_buffer_execute", re.IGNORECASE)
_CAPTURE = re.compile(r"StreamBeginCapture", re.IGNORECASE)


@dataclass(frozen=True)
class GraphRow:
    """All launches of one graph; times are nanoseconds."""

    graph: str  # its id where the trace has it; else a number for launches of the same work in the same order
    launches: int
    works: int  # of one launch
    call: float  # the launching call, mean
    span: float  # from the start of its first work to the end of its last, mean
    busy: float  # of that at least one work ran, mean
    saved: int | None  # launching calls that single launches would have made besides, of all launches
    first: str  # its first work


@dataclass(frozen=True, repr=False)
class Graphs(show.Result):
    """By busy time of all launches, largest first."""

    start: int
    wall: int
    launches: int
    captures: int  # calls that began a capture
    untied: int  # launches whose work is not in the trace, or is not tied to them
    time: int  # busy time of all launches
    rows: tuple[GraphRow, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "graph": show.text,
        "first": show.text,
        "launches": show.number,
        "works": show.number,
        "call": show.time,
        "span": show.time,
        "busy": show.time,
    }
    _row: ClassVar[type] = GraphRow

    def _rows(self) -> tuple[GraphRow, ...]:
        return self.rows

    def _heading(self) -> str:
        captured = f"; {f.count(self.captures, 'capture')} begun" if self.captures else ""
        if not self.launches:
            return f"no launch of a graph is recorded{captured}"
        text = (
            f"{f.count(self.launches, 'launch').replace('launchs', 'launches')} of {f.count(len(self.rows), 'graph')}"
        )
        text += f", which ran for {f.time(self.time)}"
        lost = f"; the work of {self.untied:,} of them is not recorded" if self.untied else ""
        return f"{text}{lost}{captured}"


def graphs(trace: Trace | View) -> Graphs:
    """Group the launches of graphs by what they launched."""
    view = view_of(trace)
    start, end = view.window
    calls = _called(view, _LAUNCH)
    launching = launches_of(view).call
    is_graph = np.zeros(view.count + 1, bool)
    is_graph[calls] = True
    work = np.flatnonzero((view.bits > 0) & is_graph[launching])
    order = np.lexsort((view.end[work], view.start[work], launching[work]))
    units = grouped(work, launching[work], order)
    ids = dict(zip(work.tolist(), arg_numbers(view, work, "graph id").tolist(), strict=True))
    kinds: dict[object, list[tuple[int, Ints]]] = {}
    for call, mine in units.items():
        number = ids[int(mine[0])]
        kinds.setdefault(number if isfinite(number) else view.name[mine].tobytes(), []).append((call, mine))
    rows = [_row(view, _label(kind, index), found) for index, (kind, found) in enumerate(kinds.items(), 1)]
    rows.sort(key=lambda row: (-row.busy * row.launches, row.graph))
    time = round(sum(row.busy * row.launches for row in rows))
    numbers = (len(calls), len(_called(view, _CAPTURE)), len(calls) - len(units), time)
    return Graphs(start, end - start, *numbers, tuple(rows))


def _called(view: View, pattern: re.Pattern[str]) -> Ints:
    named = np.array([bool(pattern.search(name)) for name in view.names], dtype=bool)
    return np.flatnonzero(named[view.name] & view.on_kind("thread") & view.in_categories("runtime", "sync"))


def _label(kind: object, index: int) -> str:
    return f"id {kind:.0f}" if isinstance(kind, float) else f"#{index}"


def _row(view: View, label: str, found: list[tuple[int, Ints]]) -> GraphRow:
    calls = np.array([call for call, _ in found])
    spans, busy = [], []
    for _, mine in found:
        low, high, _ = union(view.start[mine], view.end[mine])
        spans.append(int(high[-1] - low[0]))
        busy.append(int((high - low).sum()))
    works = len(found[0][1])
    return GraphRow(
        label,
        len(found),
        works,
        float(view.duration[calls].mean()),
        float(np.mean(spans)),
        float(np.mean(busy)),
        sum(len(mine) - 1 for _, mine in found),
        view.word(int(found[0][1][0])),
    )
