"""Each time the host blocked until a device was done: what it waited for and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import blocking_of
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, line_of, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class Sync:
    """One blocking call. waited + returned = duration; both None where it is not recorded what it waited for."""

    name: str
    thread: str
    start: int
    duration: int
    inside: str | None  # the operation around it
    waited_for: str | None  # the last work that it waited for
    stream: str | None
    waited: int | None  # until that work was done
    returned: int | None  # from then until the call returned
    line: str | None
    inferred: bool  # no edge says what it waited for: the last work of its thread ended as it returned
    launching: bool  # it launched what it waited for, which is no copy


@dataclass(frozen=True)
class SyncRow:
    """All synchronizations of one name inside one operation."""

    name: str
    inside: str | None
    count: int
    total: int
    longest: int


@dataclass(frozen=True, repr=False)
class Syncs(show.Result):
    """By time; `table` adds them up, most expensive first."""

    start: int
    wall: int
    count: int
    total: int
    table: tuple[SyncRow, ...]
    each: tuple[Sync, ...]
    skew: int  # how long after the return of a call the work that it waited for ends, at most

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "thread": show.text,
        "duration": show.time,
        "inside": show.text,
        "waited_for": show.text,
        "stream": show.text,
        "waited": show.time,
    }
    _row: ClassVar[type] = Sync

    def _rows(self) -> tuple[Sync, ...]:
        return self.each

    def _heading(self) -> str:
        return f"the host blocked {f.count(self.count, 'time')} for {f.time(self.total)} of {f.time(self.wall)}"


def syncs(trace: Trace | View) -> Syncs:
    """Every call on a host thread that blocked until a device was done; copies that wait are among them."""
    view = view_of(trace)
    start, end = view.window
    found = blocking_of(view)
    rows = found.rows
    outer = _around(view)
    columns = (rows, found.source, found.inferred, found.launching)
    each = tuple(_sync(view, outer, *call) for call in zip(*(column.tolist() for column in columns), strict=True))
    total = int(view.duration[rows].sum())
    return Syncs(start, end - start, len(rows), total, _table(each), each, found.skew)


def _sync(view: View, outer: Ints, row: int, source: int, *how: bool) -> Sync:
    begin, end = int(view.start[row]), int(view.end[row])
    around = int(outer[row])
    waited = returned = None
    if source >= 0:
        done = min(max(int(view.end[source]), begin), end)
        waited, returned = done - begin, end - done
    track = int(view.track[source]) if source >= 0 else -1
    return Sync(
        view.word(row),
        view.thread(int(view.track[row])),
        begin,
        end - begin,
        view.word(around) if around >= 0 else None,
        view.word(source) if source >= 0 else None,
        f"{view.device(track)} stream {view.stream(track)}" if source >= 0 else None,
        waited,
        returned,
        line_of(view, int(view.stack[row])),
        *how,
    )


def _around(view: View) -> Ints:
    """The operation around each host span; synchronizations inside synchronizations count as one."""
    outer = np.full(view.count, -1, np.int64)
    for nest in nests_of(view).values():
        inner = nest.parent >= 0
        outer[nest.rows[inner]] = nest.rows[nest.parent[inner]]
    return outer


def _table(each: tuple[Sync, ...]) -> tuple[SyncRow, ...]:
    groups: dict[tuple[str, str | None], list[int]] = {}
    for sync in each:
        groups.setdefault((sync.name, sync.inside), []).append(sync.duration)
    rows = [SyncRow(name, inside, len(times), sum(times), max(times)) for (name, inside), times in groups.items()]
    return tuple(sorted(rows, key=lambda row: -row.total))
