"""Sampled stacks as spans: neighbouring samples of a thread with the same callers are one span of the function.

They show on a timeline what a thread was in. What began and ended between two samples is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from eventide.analysis._flame import path_of
from eventide.analysis._samples import SampledStack, sample_times
from eventide.analysis._view import Ints, View
from eventide.trace import Trace

RUNS_AT_MOST = 200_000  # of equal samples of a thread; more are not made into spans
_Box = tuple[str, str, str]  # name, file, kind


@dataclass
class _Spans:
    """The columns that are filled, and the boxes of one track that have not ended: each with its row."""

    track: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    category: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    opened: list[tuple[_Box, int]] = field(default_factory=list)
    until: int = 0

    def close(self, depth: int) -> None:
        """End the boxes from this depth on where the latest sample ended."""
        for _, row in self.opened[depth:]:
            self.duration[row] = self.until - self.start[row]
        del self.opened[depth:]

    def show(self, track: int, path: Sequence[_Box], stack: int, low: int, high: int) -> None:
        """The thread was in this path from `low` to `high`; what it was in before ends unless it is the same."""
        same = 0
        if low <= self.until:
            while same < min(len(path), len(self.opened)) and path[same] == self.opened[same][0]:
                same += 1
        self.close(same)
        for box in path[same:]:
            self.opened.append((box, len(self.start)))
            self.track.append(track)
            self.name.append(box[0])
            self.category.append("wait" if box[2] == "waiting" else "sample")
            self.start.append(low)
            self.duration.append(0)
            self.stack.append(stack)
        self.until = high


def with_sampled_spans(view: View) -> Trace:
    """The trace with a span for each box, behind its own spans; as it is if it has no samples or far too many."""
    found = sample_times(view)
    if not len(found.time):
        return view.trace
    order = np.lexsort((found.time, found.track))
    track, stack, waits = found.track[order], found.stack[order], found.share[order] == 0
    low, high = _limits(found.time[order], found.weight[order], track, view.window)
    fresh = np.ones(len(order), bool)
    fresh[1:] = (np.diff(track) != 0) | (np.diff(stack) != 0) | (waits[1:] != waits[:-1]) | (low[1:] > high[:-1])
    first = np.flatnonzero(fresh)
    if len(first) > RUNS_AT_MOST:
        return view.trace
    last = np.append(first[1:], len(order)) - 1
    spans, now, paths = _Spans(), -1, {}
    for one, until in zip(first.tolist(), last.tolist(), strict=True):
        if low[one] == high[until]:
            continue  # the first sample of the trace: what was before it lies outside
        key = int(stack[one]), bool(waits[one])
        if key not in paths:
            stacked = SampledStack("", found.frames.get(key[0], ()), key[1], 1, 0)
            paths[key] = list(path_of(stacked))[1:] if stacked.frames else []
        if track[one] != now:
            spans.close(0)
            now = int(track[one])
        spans.show(now, paths[key], key[0], int(low[one]), int(high[until]))
    spans.close(0)
    columns = {name: getattr(spans, name) for name in ("track", "name", "category", "start", "duration", "stack")}
    return view.trace.replace(spans=pa.concat_tables([view.trace.spans, Trace({"spans": columns}).spans]))


def _limits(time: Ints, weight: Ints, track: Ints, window: tuple[int, int]) -> tuple[Ints, Ints]:
    """From when to when each sample counts: until the next one of its thread where that is about a sweep away."""
    high = np.clip(time, *window)
    low = np.clip(time - weight, window[0], high)
    follows = np.zeros(len(time), bool)
    follows[1:] = (np.diff(track) == 0) & (low[1:] - high[:-1] < weight[1:] // 2)
    low[follows] = high[np.flatnonzero(follows) - 1]
    return low, high
