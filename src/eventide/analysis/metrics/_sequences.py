"""Sequences of short kernels that repeat on a stream: what one fused kernel, or a graph, would launch at once.

Kernels under 10 us cost about as much to launch as to run; those of graphs are launched at once already. One that
is part of a longer one with the same count is left out, and occurrences do not overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import launches_of
from eventide.analysis._view import COMPUTE, Bools, Ints, View, view_of
from eventide.analysis.metrics._kernels import SHORT
from eventide.analysis.metrics._launching_ops import operator_of
from eventide.trace import Trace

_LONGEST = 6
_LEAST = 4  # times that a sequence occurs
_KEPT = 200


@dataclass(frozen=True)
class SequenceRow:
    """One sequence; times are of all its occurrences, in nanoseconds."""

    kernels: tuple[str, ...]
    operators: tuple[str | None, ...]  # that launched each the first time; None: not recorded
    count: int
    time: int  # of the kernels
    gaps: int  # between them, when their stream ran nothing
    calls: int | None  # of the launching calls but the first of each; None: not recorded

    @property
    def label(self) -> str:
        """Operators, and kernels where their operator is not recorded."""
        pairs = zip(self.operators, self.kernels, strict=True)
        return " > ".join(operator or f.name(kernel, 40) for operator, kernel in pairs)

    @property
    def launches_saved(self) -> int:
        """Launches fewer if each occurrence were one."""
        return self.count * (len(self.kernels) - 1)


@dataclass(frozen=True, repr=False)
class Sequences(show.Result):
    """By launches saved, most first. Sequences may share kernels, so their times do not add up."""

    start: int
    wall: int
    short: int  # kernels under 10 us
    rows: tuple[SequenceRow, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "sequence": show.text,
        "length": show.number,
        "count": show.number,
        "launches_saved": show.number,
        "time": show.time,
        "gaps": show.time,
        "calls": show.time,
    }
    _row: ClassVar[type] = SequenceRow
    _more: ClassVar[tuple[str, ...]] = ("sequence", "length", "launches_saved")

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "sequence": row.label,
                "length": len(row.kernels),
                "launches_saved": row.launches_saved,
                **vars(row),
                "kernels": list(row.kernels),
                "operators": list(row.operators),
            }
            for row in self.rows
        ]

    def _heading(self) -> str:
        if not self.short:
            return f"the trace has no kernels under {f.time(SHORT)}"
        text = f"{f.count(self.short, 'kernel')} under {f.time(SHORT)}"
        if not self.rows:
            return f"{text}; no two of them follow each other {_LEAST} times in the same way"
        best = self.rows[0]
        first = f"{len(best.kernels)} kernels that repeat {best.count:,} times"
        text += f", {f.count(len(self.rows), 'sequence')}"
        return f"{text}; one launch for the first, {first}, saves {best.launches_saved:,}"


def sequences(trace: Trace | View) -> Sequences:
    """Count sequences of two to six short kernels that follow each other on a stream."""
    view = view_of(trace)
    start, end = view.window
    rows = list(view.work_by_track.values())
    # A name that no kernel has separates streams, and represents work that is not a short kernel.
    chain = np.concatenate([np.append(each, -1) for each in rows]) if rows else np.empty(0, np.int64)
    short = _short(view)[chain] & (chain >= 0) if view.count else chain >= 0
    found: dict[tuple[int, ...], Ints] = {}
    names = view.name[chain] if view.count else chain
    code = np.zeros(len(chain), np.int64)
    for length in range(2, _LONGEST + 1):
        code, places = _grams(names, short, code, length)
        for place in places:
            found[tuple(names[place[0] : place[0] + length].tolist())] = place
    # Every occurrence is in one of a sequence that is longer by one kernel.
    inside = {(part, len(place)) for key, place in found.items() for part in (key[:-1], key[1:])}
    kept = [(key, place) for key, place in found.items() if (key, len(place)) not in inside]
    kept.sort(key=lambda each: -len(each[1]) * (len(each[0]) - 1))
    table = [_row(view, chain, len(key), place) for key, place in kept[:_KEPT]]
    table.sort(key=lambda row: (-row.launches_saved, row.kernels))
    return Sequences(start, end - start, int(short.sum()), tuple(table))


def _short(view: View) -> Bools:
    """Short kernels that a call of their own launched, or an unknown one: not those of a graph."""
    call = launches_of(view).call
    _, place, works = np.unique(call, return_inverse=True, return_counts=True)
    alone: Bools = (call < 0) | (works[place] == 1)
    found: Bools = (view.bits == COMPUTE) & (view.duration < SHORT) & alone
    return found


def _grams(names: Ints, short: Bools, code: Ints, length: int) -> tuple[Ints, list[Ints]]:
    """Codes of the sequences of `length` from those of one less, and the places of the frequent ones, apart."""
    count = len(names) - length + 1
    if count <= 0:
        return code[:0], []
    if length == 2:
        code, valid = names[:-1], short[:-1] & short[1:]
    else:
        valid = (code[:count] >= 0) & short[length - 1 :]
    pair = np.where(valid, code[:count] * (int(names.max()) + 1) + names[length - 1 :], -1)
    values, place = np.unique(pair, return_inverse=True)
    found: Ints = np.where(pair < 0, -1, place)
    order = np.argsort(found, kind="stable")
    sizes = np.bincount(place, minlength=len(values))
    often = np.flatnonzero((sizes >= _LEAST) & (values >= 0))
    begins = np.concatenate(([0], np.cumsum(np.bincount(found + 1, minlength=len(values) + 1))))
    frequent = [_apart(order[begins[each + 1] : begins[each + 2]], length) for each in often.tolist()]
    return found, [each for each in frequent if len(each) >= _LEAST]


def _apart(place: Ints, length: int) -> Ints:
    """Of the places of one sequence those that do not overlap: in a run of overlapping ones every so many."""
    step = np.diff(place)
    close = step < length
    if not close.any():
        return place
    first = np.append(True, ~close)
    run = np.cumsum(first) - 1
    at = np.flatnonzero(first)
    every = -(-length // max(int(step[close].min()), 1))
    chosen: Ints = place[(np.arange(len(place)) - at[run]) % every == 0]
    return chosen


def _row(view: View, chain: Ints, length: int, place: Ints) -> SequenceRow:
    rows = chain[place[:, None] + np.arange(length)]
    calls = launches_of(view).call[rows]
    known = bool((calls >= 0).all())
    operators = operator_of(view)[rows[0]]
    gaps = np.maximum(view.start[rows[:, 1:]] - view.end[rows[:, :-1]], 0)
    return SequenceRow(
        tuple(view.word(row) for row in rows[0].tolist()),
        tuple(view.word(row) if row >= 0 else None for row in operators.tolist()),
        len(place),
        int(view.duration[rows].sum()),
        int(gaps.sum()),
        int(view.duration[calls[:, 1:]].sum()) if known else None,
    )
