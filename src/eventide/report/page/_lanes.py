"""Spans in lanes: a lane is one depth of one track, so that its spans never overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide._native import nest_spans
from eventide.analysis import View
from eventide.report.page._columns import Ints


@dataclass(frozen=True)
class Lane:
    """Rows of spans by start."""

    track: int
    depth: int
    rows: Ints


def lanes_of(view: View, tracks: list[int]) -> list[Lane]:
    """The lanes of these tracks, in their order, outermost first."""
    order = np.lexsort((-view.end, view.start, view.track))
    cuts = np.searchsorted(view.track[order], np.arange(len(view.track_kind) + 1))
    found = []
    for track in tracks:
        rows = order[cuts[track] : cuts[track + 1]]
        depth = depths(view.start[rows], view.end[rows])
        by_depth = np.argsort(depth, kind="stable")
        edges = np.searchsorted(depth[by_depth], np.arange(int(depth.max(initial=-1)) + 2))
        found += [
            Lane(track, level, rows[by_depth[low:high]])
            for level, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        ]
    return found


def depths(start: Ints, end: Ints) -> Ints:
    """One more than the deepest span that runs when this one starts; spans are sorted by (start, -end)."""
    count = len(start)
    parent, self_time = np.empty(count, np.int64), np.empty(count, np.int64)
    times, owner = np.empty(2 * count + 1, np.int64), np.empty(2 * count, np.int64)
    nest_spans(start, np.maximum(end, start + 1), parent, self_time, times, owner)
    depth = np.where(parent < 0, 0, -1)
    left = np.flatnonzero(depth < 0)
    while len(left):
        above = depth[parent[left]]
        ready = above >= 0
        depth[left[ready]] = above[ready] + 1
        left = left[~ready]
    return depth
