"""What the launching thread did while its device had nothing to do."""

from __future__ import annotations

import re

import numpy as np

from eventide.analysis._blocking import blocking_of
from eventide.analysis._intervals import Shares, covered_by, shares, union
from eventide.analysis._view import Ints, View

_ALLOCATOR = re.compile(r"(malloc|free|hostalloc|hostregister|hostunregister|mempool|memcreate|memmap)", re.IGNORECASE)
_COMPILE, _ALLOC, _SYNC = 1, 2, 4


def split_host(view: View, thread: Ints, start: Ints, end: Ints) -> dict[str, Ints]:
    """Split each [start, end) by what the thread was in: a compiler, an allocator of the driver, a synchronization.

    Where the device ran dry while the thread stood in a synchronization, all that follows until the launch is due to
    it: the host could not have queued anything. The rest is "host late". Parts of an interval sum to it.
    """
    length = end - start
    found = {
        cause: np.zeros(len(start), np.int64) for cause in ("compile", "allocator", "synchronization", "host late")
    }
    found["host late"] = length.copy()
    for track in np.unique(thread[length > 0]).tolist():
        if track < 0:
            continue
        mine = np.flatnonzero((thread == track) & (length > 0))
        masks, (low, high) = _doings(view, track)
        parts = masks.within(start[mine], end[mine])
        compiling = sum((time for mask, time in parts.items() if mask & _COMPILE), np.zeros(len(mine), np.int64))
        allocating = sum(
            (time for mask, time in parts.items() if mask & _ALLOC and not mask & _COMPILE),
            np.zeros(len(mine), np.int64),
        )
        blocked = sum((time for mask, time in parts.items() if mask == _SYNC), np.zeros(len(mine), np.int64))
        rest = length[mine] - compiling - allocating
        drained = covered_by(low, high, start[mine]) >= 0
        waiting = np.where(drained, rest, blocked)
        for cause, time in (("compile", compiling), ("allocator", allocating), ("synchronization", waiting)):
            found[cause][mine] = time
        found["host late"][mine] = rest - waiting
    return found


def _doings(view: View, track: int) -> tuple[Shares, tuple[Ints, Ints]]:
    """When the thread compiled, allocated and blocked; and its synchronizations as disjoint intervals."""
    rows = view.host_by_track.get(track, np.empty(0, np.int64))
    allocator = np.array([bool(_ALLOCATOR.search(name)) for name in view.names], dtype=bool)
    chosen = {
        _COMPILE: rows[view.in_categories("compile")[rows]],
        _ALLOC: rows[(view.in_categories("runtime")[rows]) & allocator[view.name[rows]]],
        _SYNC: rows[np.isin(rows, blocking_of(view).rows)],
    }
    syncs = chosen[_SYNC]
    low, high, _ = union(view.start[syncs], view.end[syncs])
    return shares({bit: (view.start[some], view.end[some]) for bit, some in chosen.items()}), (low, high)
