"""How much work of each stream was outstanding: launched and not ended. One count, shared by all that need it.

A launching call that finds the queue of its stream full returns only when there is room again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._host_calls import NEVER, blocking_of, launches_of
from eventide.analysis._view import Bools, Ints, View

_NEAR_LIMIT = 3  # a slot is free some time after the work that held it ended: the count differs by so many
_LONG = 5  # a call that takes so many times the median call waited for something
_LEAST = 20  # blocked calls; fewer show no limit
_RETURN = 50_000  # ns: from the end of a work until a call that waited for its slot returns, at the median


@dataclass(frozen=True)
class Level:
    """How many works were outstanding from each time on, and how many of them had not started."""

    times: Ints
    outstanding: Ints
    waiting: Ints


@dataclass(frozen=True)
class Outstanding:
    """One stream. Each array has one item a work whose launch is known, in the order in which the calls returned."""

    rows: Ints  # of the spans
    called: Ints  # when the launching call began
    returned: Ints  # when it returned
    depth: Ints  # works outstanding as it returned, this one among them
    level: Level


@dataclass(frozen=True)
class FullQueue:
    """The queue of a stream that was full. `blocked` marks the works whose call waited for room."""

    limit: int  # works that fit
    blocked: Bools  # as long as the arrays of Outstanding


def outstanding_of(view: View) -> dict[int, Outstanding]:
    """By stream track; streams without a known launch are left out."""
    return view.remember("outstanding", lambda: _outstanding(view))


def _outstanding(view: View) -> dict[int, Outstanding]:
    launches = launches_of(view)
    found = {}
    for track, work in view.work_by_track.items():
        rows = work[launches.begin[work] != NEVER]
        if len(rows) == 0:
            continue
        # Clocks that disagree: work that ended before its call returned was outstanding until its end.
        returned = np.minimum(launches.end[rows], view.end[rows])
        order = np.argsort(returned, kind="stable")
        rows, returned = rows[order], returned[order]
        ended = np.sort(view.end[rows])
        depth = np.searchsorted(returned, returned, side="right") - np.searchsorted(ended, returned, side="right")
        found[track] = Outstanding(rows, launches.begin[rows], returned, depth, _level(view, rows, returned))
    return found


def _level(view: View, rows: Ints, returned: Ints) -> Level:
    """Count up at each launch, down at each start (not started) and end (outstanding)."""
    begun = np.maximum(view.start[rows], returned)
    time = np.concatenate((view.end[rows], begun, returned))
    one, none = np.ones(len(rows), np.int64), np.zeros(len(rows), np.int64)
    outstanding, waiting = np.concatenate((-one, none, one)), np.concatenate((none, -one, one))
    order = np.argsort(time, kind="stable")
    time = time[order]
    last = np.append(time[1:] != time[:-1], True)
    return Level(time[last], np.cumsum(outstanding[order])[last], np.cumsum(waiting[order])[last])


def full_queues(view: View) -> dict[int, FullQueue]:
    """Streams whose queue was full, by track.

    It was if most calls that took long, and no fewer than twenty, returned with the same, greatest number of works
    outstanding, each as a work had ended. Calls that block for another reason do not count: those that returned when
    their own work had ended waited for that. A call that launches many works (a graph) is one call.
    """
    return view.remember("full queues", lambda: _full_queues(view))


def _full_queues(view: View) -> dict[int, FullQueue]:
    launches, blocking = launches_of(view), np.zeros(view.count, bool)
    blocking[blocking_of(view).rows] = True
    found = {}
    for track, stream in outstanding_of(view).items():
        call = launches.call[stream.rows]
        known = (call >= 0) & ~blocking[np.maximum(call, 0)] & (launches.end[stream.rows] < view.end[stream.rows])
        if not known.any():
            continue
        length = stream.returned - stream.called
        long = known & (length > _LONG * np.median(length[known]))
        limit = int(stream.depth.max())
        blocked = long & (stream.depth >= limit - _NEAR_LIMIT)
        full, slow = (len(np.unique(call[some])) for some in (blocked, long))
        if full < _LEAST or full * 2 <= slow:
            continue
        ended = np.sort(view.end[stream.rows])
        place = np.searchsorted(ended, stream.returned[blocked], side="right") - 1
        since = stream.returned[blocked] - ended[np.maximum(place, 0)]
        if np.median(np.where(place >= 0, since, np.iinfo(np.int64).max)) <= _RETURN:
            found[track] = FullQueue(limit, blocked)
    return found
