"""Each time the host blocked until a device was done: what it waited for and what that cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._blocking import blocking_of
from eventide.analysis._idle_rows import line_of
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class Sync:
    """One blocking call. waited + returned = duration; both None where the trace does not tell what it waited for."""

    name: str
    thread: str
    start: int
    duration: int
    inside: str | None  # the operation around it
    waited_for: str | None  # the last work that it waited for
    stream: str | None
    waited: int | None  # until that work was done
    returned: int | None  # from then until the call was over
    line: str | None


@dataclass(frozen=True)
class SyncRow:
    """All synchronizations of one name inside one operation."""

    name: str
    inside: str | None
    count: int
    total: int
    longest: int


@dataclass(frozen=True)
class Syncs:
    """By time; `table` adds them up, most expensive first."""

    start: int
    wall: int
    count: int
    total: int
    table: tuple[SyncRow, ...]
    each: tuple[Sync, ...]


def syncs(trace: Trace | View) -> Syncs:
    """Every call on a host thread that blocked until a device was done; copies of pageable memory are among them."""
    view = view_of(trace)
    start, end = view.window
    rows, sources = blocking_of(view).rows, blocking_of(view).source
    outer = _around(view)
    each = tuple(_sync(view, row, source, outer) for row, source in zip(rows.tolist(), sources.tolist(), strict=True))
    total = int(view.duration[rows].sum())
    return Syncs(start, end - start, len(rows), total, _table(each), each)


def _sync(view: View, row: int, source: int, outer: Ints) -> Sync:
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
