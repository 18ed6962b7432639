"""Operators by name: their time on the host, and of the work that they launched, alone and with those inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._nesting import nests_of, outermost
from eventide.analysis._view import Bools, Ints, View, view_of
from eventide.analysis.metrics._launching_ops import operator_of
from eventide.analysis.metrics._step_costs import loading
from eventide.trace import Trace


@dataclass(frozen=True)
class OperatorCost:
    """All calls of one operator. One inside another of its name is part of that, and not counted again."""

    name: str
    count: int
    host_total: int
    host_self: int  # without spans inside, calls into the runtime among them
    device_total: int | None  # of the work launched in it; None where no operator of any work is known
    device_self: int | None  # of the work that no operator inside it launched
    works: int | None  # of device_self


@dataclass(frozen=True, repr=False)
class OperatorCosts(show.Result):
    """By device_self, then host_self, largest first."""

    start: int
    wall: int
    rows: tuple[OperatorCost, ...]
    launched: int  # time of the work whose operator is known
    unknown: int  # time of the other work
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "count": show.number,
        "device_self": show.time,
        "device_total": show.time,
        "works": show.number,
        "host_self": show.time,
        "host_total": show.time,
    }
    _row: ClassVar[type] = OperatorCost

    def _rows(self) -> tuple[OperatorCost, ...]:
        return self.rows

    def _heading(self) -> str:
        if self.absent and not self.rows:
            return self.absent
        whole = self.launched + self.unknown
        text = f.count(len(self.rows), "operator")
        if whole and self.launched:
            text += f", which launched {f.percent(self.launched, whole)} of {f.time(whole)} of device work"
        return f"{text}; {self.absent}" if self.absent else text


_NONE = "the trace has no operators of a framework"
_NO_LAUNCH = "the operator of no device work is recorded"


def operator_costs(trace: Trace | View) -> OperatorCosts:
    """Add up host and device time by operator."""
    view = view_of(trace)
    start, end = view.window
    ops = view.in_categories("op") & view.on_kind("thread") & ~loading(view)
    operator = operator_of(view)
    work = np.flatnonzero(view.bits > 0)
    known = work[(operator[work] >= 0)]
    known = known[ops[operator[known]]]
    own, works = np.zeros(view.count, np.int64), np.zeros(view.count, np.int64)
    np.add.at(own, operator[known], view.duration[known])
    np.add.at(works, operator[known], 1)
    inner, total = _nested(view, own)
    rows = np.flatnonzero(ops)
    outer = outermost(view.start[rows], view.end[rows], view.name[rows] * len(view.track_kind) + view.track[rows])
    found = _by_name(view, rows, outer, (inner, total, own, works))
    launched = int(own.sum())
    absent = None
    if len(rows) == 0:
        absent = _NONE
    elif len(work) and not launched:
        absent = _NO_LAUNCH
    unknown = int(view.duration[work].sum()) - launched
    return OperatorCosts(start, end - start, found, launched, unknown, absent)


def _nested(view: View, own: Ints) -> tuple[Ints, Ints]:
    """The host's self time of each span, and `own` of it with that of the spans inside."""
    inner, total = np.zeros(view.count, np.int64), own.copy()
    for nest in nests_of(view).values():
        rows = nest.rows
        inner[rows] = nest.self_time
        sums = np.concatenate(([0], np.cumsum(own[rows])))
        # Spans that begin before it ends are inside, and follow it.
        last = np.maximum(np.searchsorted(view.start[rows], view.end[rows], side="left"), np.arange(len(rows)) + 1)
        total[rows] = sums[last] - sums[:-1]
    return inner, total


def _by_name(view: View, rows: Ints, outer: Bools, parts: tuple[Ints, Ints, Ints, Ints]) -> tuple[OperatorCost, ...]:
    inner, total, own, works = parts
    names, place = np.unique(view.name[rows], return_inverse=True)

    def summed(values: Ints) -> list[Any]:
        sums = np.zeros(len(names), np.int64)
        np.add.at(sums, place, values)
        found: list[Any] = sums.tolist()
        return found

    once = outer.astype(np.int64)
    host, device = view.duration[rows] * once, total[rows] * once
    columns = [summed(each) for each in (once, host, inner[rows])]
    blank = [None] * len(names)
    columns += [summed(each) if own.any() else blank for each in (device, own[rows], works[rows])]
    found = [OperatorCost(view.names[name], *row) for name, *row in zip(names.tolist(), *columns, strict=True)]
    return tuple(sorted(found, key=lambda row: (-(row.device_self or 0), -row.host_self, row.name)))
