"""Time by user annotation and by nn.Module: on the host, and of the device work that was launched inside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._nesting import nests_of, outermost
from eventide.analysis._view import Ints, View, view_of
from eventide.trace import Trace

KINDS = ("annotation", "module", "span")
_ENGINE = re.compile(r"autograd::engine::evaluate_function|Backward\d*$")


@dataclass(frozen=True)
class ScopeRow:
    """All spans of one name; inside one of its name it is not counted again. Times are nanoseconds."""

    name: str
    kind: str  # annotation, module or span
    count: int
    host: int
    works: int | None  # launched inside; None: the trace does not say what launched any work
    device: int | None  # their time
    inferred: int  # of `device`: launched by autograd's thread, while the thread that calls it was inside


@dataclass(frozen=True, repr=False)
class Scopes(show.Result):
    """By device time, then host time, largest first."""

    start: int
    wall: int
    rows: tuple[ScopeRow, ...]
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "kind": show.text,
        "count": show.number,
        "host": show.time,
        "works": show.number,
        "device": show.time,
        "inferred": show.time,
    }
    _row: ClassVar[type] = ScopeRow

    def _rows(self) -> tuple[ScopeRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if not self.rows:
            return "the trace has no annotations of the program and no modules"
        counts = [(kind, sum(row.kind == kind for row in self.rows)) for kind in KINDS]
        text = ", ".join(f.count(count, f"{kind} name") for kind, count in counts if count)
        return f"{text}; {self.absent}" if self.absent else text


_ABSENT = "no launch of device work is recorded, so their device time is not known"


def scopes(trace: Trace | View) -> Scopes:
    """Add up host and device time of annotations, modules and named spans."""
    view = view_of(trace)
    start, end = view.window
    rows = np.flatnonzero(view.in_categories(*KINDS) & view.on_kind("thread") & (view.end > view.start))
    begin, thread = launches_of(view).begin, launches_of(view).thread
    work = np.flatnonzero((view.bits > 0) & (begin != NEVER) & (thread >= 0))
    by_engine = callers(view)
    caller = np.array([by_engine.get(track, -1) for track in range(len(view.track_kind))] or [-1], np.int64)
    own, guest = work, work[caller[thread[work]] >= 0]
    sums = np.zeros((3, len(rows)), np.int64)
    key = view.name[rows] * len(view.categories) + view.category[rows]
    outer = np.zeros(len(rows), bool)
    for track in np.unique(view.track[rows]).tolist():
        mine = np.flatnonzero(view.track[rows] == track)
        outer[mine] = outermost(view.start[rows[mine]], view.end[rows[mine]], key[mine])
        for chosen, inferred in ((own[thread[own] == track], 0), (guest[caller[thread[guest]] == track], 1)):
            sums[:, mine] += _within(view, rows[mine], chosen) * np.array([[1], [1], [inferred]])
    found = _by_name(view, rows[outer], key[outer], sums[:, outer] if len(work) else None)
    absent = _ABSENT if len(work) == 0 and bool(view.bits.any()) else None
    return Scopes(start, end - start, found, absent)


def _within(view: View, rows: Ints, work: Ints) -> Ints:
    """For each span the number of works launched in it, their time, and their time again."""
    at = launches_of(view).begin[work]
    order = np.argsort(at, kind="stable")
    at, time = at[order], np.concatenate(([0], np.cumsum(view.duration[work[order]])))
    low, high = np.searchsorted(at, view.start[rows]), np.searchsorted(at, view.end[rows])
    length = time[high] - time[low]
    return np.stack((high - low, length, length))


def callers(view: View) -> dict[int, int]:
    """Each thread of autograd's engine, and the thread of its process that launches the most besides."""
    names = np.array([bool(_ENGINE.search(name)) for name in view.names], dtype=bool)
    if not names.any():
        return {}
    engine = []
    for track, nest in nests_of(view).items():
        top = nest.rows[nest.parent < 0]
        time = view.duration[top]
        if time[names[view.name[top]]].sum() * 2 > time.sum():
            engine.append(track)
    launching, counts = np.unique(launches_of(view).thread, return_counts=True)
    found = {}
    for track in engine:
        mains = [
            (count, other)
            for other, count in zip(launching.tolist(), counts.tolist(), strict=True)
            if other >= 0 and other not in engine and view.track_pid[other] == view.track_pid[track]
        ]
        if mains:
            found[track] = max(mains)[1]
    return found


def _by_name(view: View, rows: Ints, key: Ints, sums: Ints | None) -> tuple[ScopeRow, ...]:
    keys, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    host = np.zeros(len(keys), np.int64)
    np.add.at(host, place, view.duration[rows])
    works = np.zeros((3, len(keys)), np.int64)
    if sums is not None:
        for index in range(3):
            np.add.at(works[index], place, sums[index])
    found = []
    for index, each in enumerate(keys.tolist()):
        name, kind = divmod(each, len(view.categories))
        count, device = (int(works[0, index]), int(works[1, index])) if sums is not None else (None, None)
        words = (view.names[name], view.categories[kind], int(counts[index]), int(host[index]))
        found.append(ScopeRow(*words, count, device, int(works[2, index])))
    return tuple(sorted(found, key=lambda row: (-(row.device or 0), -row.host, row.name)))
