"""Intervals on the int64 clock, as arrays of starts and ends: unions, overlaps, how much lies before a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import Bools, Ints


def union(start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Merge intervals sorted by start; what touches is one. Gives starts, ends, and the index each one begins with."""
    if len(start) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    reach = np.maximum.accumulate(end)
    first = np.ones(len(start), bool)
    first[1:] = start[1:] > reach[:-1]
    head = np.flatnonzero(first)
    last = np.append(head[1:], len(start)) - 1
    return start[head], reach[last], head


@dataclass(frozen=True)
class Shares:
    """A piecewise constant function of time: from `times[i]` on the value is `masks[i]`; 0 before the first."""

    times: Ints
    masks: Ints

    def before(self, at: Ints) -> dict[int, Ints]:
        """For each mask, how much of the time before each `at` had it (since the first time; differences are exact)."""
        if len(self.times) == 0:
            return {}
        lengths = np.diff(self.times, append=self.times[-1])
        place = np.searchsorted(self.times, at, side="right") - 1
        inside = place >= 0
        place = np.maximum(place, 0)
        rest = np.where(inside, at - self.times[place], 0)
        found = {}
        for mask in np.unique(self.masks).tolist():
            mine = self.masks == mask
            sums = np.concatenate(([0], np.cumsum(np.where(mine, lengths, 0))))
            found[mask] = sums[place] + np.where(mine[place], rest, 0)
        return found

    def within(self, start: Ints, end: Ints) -> dict[int, Ints]:
        """How much of each [start, end) had each mask; 0 is there too, so the parts of an interval sum to it."""
        total = end - start
        low, high = self.before(start), self.before(end)
        found = {mask: high[mask] - low[mask] for mask in high if mask}
        found[0] = total - sum(found.values(), np.zeros(len(total), np.int64))
        return found


def shares(parts: dict[int, tuple[Ints, Ints]]) -> Shares:
    """Which of several sets of intervals cover each moment; `parts` maps one bit to the intervals of that set."""
    times, steps = [], []
    for bit, (start, end) in parts.items():
        order = np.argsort(start, kind="stable")
        low, high, _ = union(start[order], end[order])
        times += [low, high]
        steps += [np.full(len(low), bit, np.int64), np.full(len(high), -bit, np.int64)]
    if not times:
        return Shares(np.empty(0, np.int64), np.empty(0, np.int64))
    time, step = np.concatenate(times), np.concatenate(steps)
    order = np.argsort(time, kind="stable")
    time, mask = time[order], np.cumsum(step[order])
    keep: Bools = np.append(time[1:] > time[:-1], True) if len(time) else np.empty(0, bool)
    return Shares(time[keep], mask[keep])


def covered_by(start: Ints, end: Ints, at: Ints) -> Ints:
    """Index of the interval [start, end) that holds each time, or -1; the intervals are disjoint and sorted."""
    if len(start) == 0:
        return np.full(len(at), -1, np.int64)
    place = np.searchsorted(start, at, side="right") - 1
    inside = (place >= 0) & (at < end[np.maximum(place, 0)])
    return np.where(inside, place, -1)
