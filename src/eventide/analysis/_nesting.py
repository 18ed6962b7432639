"""Who is innermost on a host thread, moment by moment: self time, parents and the host's half of the critical path.

The innermost span at a time is the one that started last of those running, whether they nest or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide._native import nest_spans
from eventide.analysis._view import Bools, Ints, View


@dataclass(frozen=True)
class Nest:
    """One thread. Indices count `rows`; -1 means none. Segments lie end to end; `owner` -1 is a hole between spans."""

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
    count = len(rows)
    parent, self_time = np.empty(count, np.int64), np.empty(count, np.int64)
    times, owner = np.empty(2 * count + 1, np.int64), np.empty(2 * count, np.int64)
    segments = nest_spans(start, end, parent, self_time, times, owner)
    if segments == 0:
        return Nest(rows, parent, self_time, times[:0], owner)
    return Nest(rows, parent, self_time, times[: segments + 1].copy(), owner[:segments].copy())


def nests_of(view: View) -> dict[int, Nest]:
    """The nest of each host thread that has spans; kept with the view, since most answers need it."""
    return view.remember(
        "nests", lambda: {t: nest(rows, view.start[rows], view.end[rows]) for t, rows in view.host_by_track.items()}
    )


def parents(start: Ints, end: Ints) -> Ints | None:
    """The parent of each span, or None where they do not nest: a span that began inside another and outlived it."""
    found = nest(np.arange(len(start)), start, end)
    inner = np.flatnonzero(found.parent >= 0)
    return None if (end[inner] > end[found.parent[inner]]).any() else found.parent


def outermost(start: Ints, end: Ints, key: Ints) -> Bools:
    """Whether each interval begins in no other of its key."""
    order = np.lexsort((-end, start, key))
    fresh = np.append(True, np.diff(key[order]) != 0)[: len(order)]
    ends, rank = np.unique(end[order], return_inverse=True)
    group = np.cumsum(fresh) - 1
    found = np.empty(len(order), bool)
    if len(order):
        reach = ends[np.maximum.accumulate(group * len(ends) + rank) % len(ends)]  # the latest end so far of its key
        found[order] = fresh | (start[order] >= np.append(reach[:1], reach[:-1]))
    return found
