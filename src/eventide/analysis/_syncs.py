"""Each time the host blocked until a device was done: what it waited for and what that cost."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from eventide.analysis._hosts import nests_of
from eventide.analysis._idle_rows import line_of
from eventide.analysis._launches import NEVER, launches_of
from eventide.analysis._view import Ints, View, view_of
from eventide.store import Trace

_WHOLE_DEVICE = re.compile(r"(Device|Ctx)Synchronize$")


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
    """Every blocking synchronization on a host thread."""
    view = view_of(trace)
    start, end = view.window
    rows = np.flatnonzero(view.in_categories("sync") & view.on_kind("thread"))
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    sources = _sources(view, rows)
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


def sync_sources(view: View) -> Ints:
    """For each span, the work that a synchronization waited for last; -1 where it is none or not known."""
    rows = np.flatnonzero(view.in_categories("sync") & view.on_kind("thread"))
    found = np.full(view.count, -1, np.int64)
    found[rows] = _sources(view, rows)
    return found


def _sources(view: View, rows: Ints) -> Ints:
    """From the synchronize edges; a synchronization of a whole device waited for all that was launched before it."""
    latest = np.full(view.count, -1, np.int64)
    edges = view.edges("synchronize")
    known = (edges.to_span >= 0) & (edges.to_span < view.count) & (edges.from_span >= 0)
    source, target = edges.from_span[known], edges.to_span[known]
    order = np.argsort(view.end[source], kind="stable")
    latest[target[order]] = source[order]
    if len(view.devices) == 1:
        whole = np.array([bool(_WHOLE_DEVICE.search(name)) for name in view.names], dtype=bool)
        blind = rows[(latest[rows] < 0) & whole[view.name[rows]]]
        latest[blind] = _last_launched(view, view.start[blind], view.end[blind])
    return latest[rows]


def _last_launched(view: View, asked: Ints, until: Ints) -> Ints:
    """Of the work launched before `asked`, the one that ended last, if that was before `until`."""
    work = np.flatnonzero(view.bits)
    begin = launches_of(view).begin[work]
    work = work[begin != NEVER]
    work = work[np.argsort(launches_of(view).begin[work], kind="stable")]
    if len(work) == 0:
        return np.full(len(asked), -1, np.int64)
    place = np.searchsorted(launches_of(view).begin[work], asked, side="left") - 1
    # The row of the running maximum of ends: where a new maximum is set, that row; else the one before.
    ends = view.end[work]
    best = np.maximum.accumulate(np.where(ends >= np.maximum.accumulate(ends), np.arange(len(work)), 0))
    found = work[best[np.maximum(place, 0)]]
    return np.where((place >= 0) & (view.end[found] <= until), found, -1)


def _table(each: tuple[Sync, ...]) -> tuple[SyncRow, ...]:
    groups: dict[tuple[str, str | None], list[int]] = {}
    for sync in each:
        groups.setdefault((sync.name, sync.inside), []).append(sync.duration)
    rows = [SyncRow(name, inside, len(times), sum(times), max(times)) for (name, inside), times in groups.items()]
    return tuple(sorted(rows, key=lambda row: -row.total))
