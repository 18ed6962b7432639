"""Who is innermost on a host thread, moment by moment. Self time, parents and the host's half of the critical path.

The innermost span at a time is the one that started last of those running. Where spans nest, which is nearly always,
this is array work; a thread on which some do not is walked with a stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eventide.analysis._view import Ints


@dataclass(frozen=True)
class Nest:
    """One thread. Indices count `rows`; -1 is none. Segments lie end to end; `owner` -1 is a hole between spans."""

    rows: Ints  # spans of the thread, by start, outer before inner
    parent: Ints
    self_time: Ints
    times: Ints  # starts of the segments, and the last one's end
    owner: Ints

    def owner_at(self, at: Ints) -> Ints:
        """Row of the innermost span at each time, or -1."""
        if len(self.owner) == 0:
            return np.full(len(at), -1, np.int64)
        place = np.searchsorted(self.times, at, side="right") - 1
        inside = (place >= 0) & (place < len(self.owner))
        owner = self.owner[np.clip(place, 0, len(self.owner) - 1)]
        return np.where(inside & (owner >= 0), self.rows[owner], -1)


def nest(rows: Ints, start: Ints, end: Ints) -> Nest:
    """Nest the spans of one thread: sorted by (start, -end), each longer than 0. start and end are theirs."""
    if len(rows) == 0:
        empty = np.empty(0, np.int64)
        return Nest(rows, empty, empty, empty, empty)
    parent = parents(start, end)
    if parent is None:
        return _walk(rows, start, end)
    length = end - start
    inner = parent >= 0
    self_time = length - np.bincount(parent[inner], weights=length[inner], minlength=len(rows)).astype(np.int64)
    times, owner = _segments(start, end, parent)
    return Nest(rows, parent, self_time, times, owner)


def parents(start: Ints, end: Ints) -> Ints | None:
    """The parent of each span, or None where they do not nest."""
    count = len(start)
    depth = np.arange(count) - np.searchsorted(np.sort(end), start, side="right")
    parent = np.full(count, -1, np.int64)
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    if int(depth[order[0]]) != 0 or len(levels) != int(depth.max()) + 1:
        return None
    for outer, inner in pairwise(levels):
        place = np.searchsorted(outer, inner) - 1
        if place[0] < 0:
            return None
        parent[inner] = outer[place]
    child = np.flatnonzero(parent >= 0)
    holder = parent[child]
    if (end[child] > end[holder]).any() or (start[child] < start[holder]).any():
        return None
    return parent


def _segments(start: Ints, end: Ints, parent: Ints) -> tuple[Ints, Ints]:
    """After a start the span itself is innermost, after an end its parent is; at one time inner ends come first."""
    count = len(start)
    index = np.arange(count)
    time = np.concatenate((end, start))
    owner = np.concatenate((parent, index))
    order = np.lexsort((np.concatenate((-index, index)), np.repeat([0, 1], count), time))
    time, owner = time[order], owner[order]
    keep = np.append(time[1:] > time[:-1], False)
    return np.append(time[keep], time[-1]), owner[keep]


def _walk(rows: Ints, start: Ints, end: Ints) -> Nest:
    """The same with a stack, for spans that overlap without nesting."""
    count = len(rows)
    starts, ends = start.tolist(), end.tolist()
    parent = np.full(count, -1, np.int64)
    self_time = [0] * count
    times: list[int] = []
    owner: list[int] = []
    running: list[int] = []

    def advance(now: int, until: int) -> int:
        """Hand out [now, until) to whoever is innermost."""
        while now < until:
            while running and ends[running[-1]] <= now:
                running.pop()
            top = running[-1] if running else -1
            stop = min(until, ends[top]) if running else until
            if top >= 0:
                self_time[top] += stop - now
            if not owner or owner[-1] != top:
                times.append(now)
                owner.append(top)
            now = stop
        return now

    now = starts[0]
    for index in range(count):
        now = advance(now, starts[index])
        while running and ends[running[-1]] <= now:
            running.pop()
        parent[index] = running[-1] if running else -1
        running.append(index)
    last = max(ends)
    advance(now, last)
    return Nest(rows, parent, np.array(self_time), np.array([*times, last]), np.array(owner))
