"""The host's half of the critical path: one line of segments for each thread, or for threads that run as one.

A thread that runs another's backward pass (tied by fwdbwd edges, or by autograd's own names) runs while that one waits,
so both are one line. Segments lie end to end over the trace's window; `owner` is a row of spans, -1 where none ran.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._launches import NEVER, Launches
from eventide.analysis._nesting import nest, nests_of
from eventide.analysis._view import Bools, Ints, View

_AUTOGRAD = "autograd::engine::evaluate_function"


@dataclass(frozen=True)
class Lines:
    """The segments of all lines, one line after the other."""

    start: Ints
    end: Ints
    owner: Ints
    track: Ints  # of the owner; of a hole the line's first thread
    first: dict[int, int]  # line -> its first segment
    last: dict[int, int]
    line_of: dict[int, int]  # thread track -> line
    main: int  # the line that launches the most, else the one with the most recorded time; -1 without lines

    def ending_at(self, line: int, at: Ints) -> Ints:
        """The segments of a line that end at these times, at which it was cut."""
        low, high = self.first[line], self.last[line] + 1
        return low + np.minimum(np.searchsorted(self.end[low:high], at, side="left"), high - low - 1)


def lines_of(view: View, launches: Launches, cuts: dict[int, Ints]) -> Lines:
    """Cut each line where it launched something, and at the times in `cuts` (by thread)."""
    window = view.window
    groups = _tied(view, launches)
    starts, ends, owners, tracks = [], [], [], []
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    count = 0
    for line, threads in groups.items():
        times, owner = _segments(view, threads)
        points = [np.array(window), times, *(cuts[thread] for thread in threads if thread in cuts)]
        edges = np.sort(np.clip(np.concatenate(points), *window))
        edges = edges[np.append(True, edges[1:] > edges[:-1])]
        edges = edges if len(edges) > 1 else np.array(window)
        place = np.searchsorted(times, edges[:-1], side="right") - 1
        inside = (place >= 0) & (place < len(owner))
        mine = np.where(inside, owner[np.clip(place, 0, max(len(owner) - 1, 0))], -1) if len(owner) else place * 0 - 1
        first[line], count = count, count + len(mine)
        last[line] = count - 1
        starts.append(edges[:-1])
        ends.append(edges[1:])
        owners.append(mine)
        tracks.append(np.where(mine >= 0, view.track[mine], threads[0]) if view.count else mine)
    line_of = {thread: line for line, threads in groups.items() for thread in threads}
    arrays = [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in (starts, ends, owners, tracks)]
    return Lines(arrays[0], arrays[1], arrays[2], arrays[3], first, last, line_of, _main(view, launches, groups))


def _segments(view: View, threads: list[int]) -> tuple[Ints, Ints]:
    """Times and owning rows; of several threads the span that started last is innermost."""
    nests = nests_of(view)
    if len(threads) == 1:
        found = nests.get(threads[0])
    else:
        rows = np.concatenate([nests[thread].rows for thread in threads if thread in nests])
        rows = rows[np.lexsort((-view.end[rows], view.start[rows]))]
        found = nest(rows, view.start[rows], view.end[rows])
    if found is None or len(found.owner) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return found.times, np.where(found.owner >= 0, found.rows[found.owner], -1)


def _tied(view: View, launches: Launches) -> dict[int, list[int]]:
    """Threads by line: those with spans or launches, joined where one runs the other's backward pass."""
    known = np.unique(launches.thread[launches.thread >= 0]).tolist()
    threads = sorted({*nests_of(view), *known})
    leader = {thread: thread for thread in threads}

    def find(thread: int) -> int:
        while leader[thread] != thread:
            thread = leader[thread]
        return thread

    edges = view.edges("fwdbwd")
    pairs = np.unique(np.stack((edges.from_track, edges.to_track)), axis=1).T.tolist() if len(edges) else []
    for one, other in pairs or _autograd_pairs(view, launches):
        if one in leader and other in leader:
            leader[find(other)] = find(one)
    lines: dict[int, list[int]] = {}
    for thread in threads:
        lines.setdefault(find(thread), []).append(thread)
    return lines


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


def _main(view: View, launches: Launches, groups: dict[int, list[int]]) -> int:
    threads, counts = np.unique(launches.thread[launches.begin != NEVER], return_counts=True)
    launched = dict(zip(threads.tolist(), counts.tolist(), strict=True))
    nests = nests_of(view)

    def weight(line: int) -> tuple[int, int]:
        recorded = sum(int(nests[thread].self_time.sum()) for thread in groups[line] if thread in nests)
        return sum(launched.get(thread, 0) for thread in groups[line]), recorded

    return max(groups, key=weight, default=-1)
