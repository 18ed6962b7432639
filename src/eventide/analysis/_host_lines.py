"""Host threads that take turns, tied into lines: what one of them waits for, another one does.

An arrow from forward to backward ties threads and is in the trace. Without arrows it is inferred: autograd's engine
works for the thread that launches the most, and two threads hand over to each other where one is silent while the
other works.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from eventide.analysis._host_calls import NEVER, Launches, launches_of
from eventide.analysis._intervals import union
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Bools, Ints, View

_AUTOGRAD = "autograd::engine::evaluate_function"


@dataclass(frozen=True)
class HostLines:
    """`threads` of each line; `recorded` has for each thread the first one that arrows of the trace tie it to."""

    threads: dict[int, list[int]]
    line_of: dict[int, int]
    recorded: dict[int, int]

    def inferred(self, one: int, other: int) -> bool:
        """Whether only an inference ties two threads of a line."""
        return self.recorded.get(one, one) != self.recorded.get(other, other)


def host_lines(view: View) -> HostLines:
    """Threads with spans or launches, by line."""
    return view.remember("host lines", lambda: _host_lines(view))


def _host_lines(view: View) -> HostLines:
    launches = launches_of(view)
    known = np.unique(launches.thread[launches.thread >= 0]).tolist()
    threads = sorted({*nests_of(view), *known})
    edges = view.edges("fwdbwd")
    arrows = np.unique(np.stack((edges.from_track, edges.to_track)), axis=1).T.tolist() if len(edges) else []
    recorded = _leaders(threads, arrows)
    inferred = [] if arrows else _autograd_pairs(view, launches)
    leader = _leaders(threads, [*arrows, *inferred, *_taking_turns(view, launches)])
    lines: dict[int, list[int]] = {}
    for thread in threads:
        lines.setdefault(leader[thread], []).append(thread)
    return HostLines(lines, leader, recorded)


def _leaders(threads: list[int], pairs: list[tuple[int, int]]) -> dict[int, int]:
    """For each thread one of those that it is tied to, the same for all of them."""
    leader = {thread: thread for thread in threads}

    def find(thread: int) -> int:
        while leader[thread] != thread:
            thread = leader[thread]
        return thread

    for one, other in pairs:
        if one in leader and other in leader:
            leader[find(other)] = find(one)
    return {thread: find(thread) for thread in threads}


def _autograd_pairs(view: View, launches: Launches) -> list[tuple[int, int]]:
    """Each thread of autograd's engine with the thread of its process that launches the most besides."""
    names = np.array([name.startswith(_AUTOGRAD) for name in view.names], dtype=bool)
    if not names.any():
        return []
    engine = {thread for thread in nests_of(view) if _runs_autograd(view, thread, names)}
    threads, counts = np.unique(launches.thread[launches.begin != NEVER], return_counts=True)
    others = [(count, thread) for thread, count in zip(threads.tolist(), counts.tolist(), strict=True)]
    pairs = []
    for thread in engine:
        pid = view.track_pid[thread]
        mains = [(n, main) for n, main in others if main >= 0 and main not in engine and view.track_pid[main] == pid]
        if mains:
            pairs.append((max(mains)[1], thread))
    return pairs


def _runs_autograd(view: View, thread: int, names: Bools) -> bool:
    """Whether most of a thread's time is autograd's: the thread that calls backward runs a few of its nodes itself."""
    found = nests_of(view)[thread]
    outer = found.rows[found.parent < 0]
    time = view.duration[outer]
    return bool(time[names[view.name[outer]]].sum() * 2 > time.sum())


_CANDIDATES = 32  # threads, those with the most launches and then time: pairs of them are compared
_SILENCE = 100_000  # ns: shorter holes between spans are the program's own
_BOTH = 0.01  # of the time of the less busy thread, at most, in which both work
_LATE = 0.1  # of a silence, at most: from the end of the other thread's work until this thread continues


@dataclass(frozen=True)
class _Working:
    """When a thread was in anything recorded: disjoint intervals, and the time in them before each."""

    start: Ints
    end: Ints
    before: Ints

    @property
    def total(self) -> int:
        return int(self.before[-1])

    def until(self, at: Ints) -> Ints:
        """The time worked before each moment."""
        place = np.searchsorted(self.start, at, side="right") - 1
        known = np.maximum(place, 0)
        found: Ints = self.before[known] + np.minimum(at, self.end[known]) - self.start[known]
        return np.where(place >= 0, found, 0)

    def within(self, start: Ints, end: Ints) -> Ints:
        return self.until(end) - self.until(start)


def _taking_turns(view: View, launches: Launches) -> list[tuple[int, int]]:
    """Pairs of threads of one process that hand over to each other, in both directions."""
    threads, counts = np.unique(launches.thread[launches.begin != NEVER], return_counts=True)
    launched = dict(zip(threads.tolist(), counts.tolist(), strict=True))
    working = {thread: _working(view, rows) for thread, rows in view.host_by_track.items()}
    chosen = sorted(working, key=lambda thread: (-launched.get(thread, 0), -working[thread].total))[:_CANDIDATES]
    begin = view.window[0]
    return [
        (one, other)
        for one, other in itertools.combinations(chosen, 2)
        if view.track_pid[one] == view.track_pid[other] and _take_turns(working[one], working[other], begin)
    ]


def _working(view: View, rows: Ints) -> _Working:
    start, end, _ = union(view.start[rows], view.end[rows])
    return _Working(start, end, np.concatenate(([0], np.cumsum(end - start))))


def _take_turns(one: _Working, other: _Working, begin: int) -> bool:
    both = int(one.within(other.start, other.end).sum())
    if both > _BOTH * min(one.total, other.total):
        return False
    return _hands_over(one, other, begin) and _hands_over(other, one, begin)


def _hands_over(source: _Working, target: _Working, begin: int) -> bool:
    """Whether the target continues as the source becomes silent: in most of its silences in which the source works."""
    low, high = np.append(begin, target.end[:-1]), target.start
    filled = (high - low >= _SILENCE) & (source.within(low, high) * 2 > high - low)
    low, high = low[filled], high[filled]
    place = np.searchsorted(source.end, high, side="right") - 1
    ended = np.where(place >= 0, source.end[np.maximum(place, 0)], begin)
    again = np.append(source.start, np.iinfo(np.int64).max)[place + 1]
    good = (ended > low) & (again >= high) & (high - ended <= _LATE * (high - low))
    return bool(good.sum() * 2 > len(good))
