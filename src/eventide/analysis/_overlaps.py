"""Spans of one track that cut into each other: they begin inside an earlier one and end after it."""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

from eventide.analysis._nesting import parents
from eventide.analysis._view import Ints


def overlapping(rows: Ints, track: Ints, start: Ints, end: Ints) -> Ints:
    """Those of `rows`, which are by track, start and falling end, that end after a span in which they began.

    Tracks on which all spans nest, nearly all, are told by array work; the others are walked.
    """
    long = end > start  # a point cuts into nothing
    rows, track, start, end = rows[long], track[long], start[long], end[long]
    found: list[int] = []
    cuts = np.flatnonzero(np.diff(track)) + 1
    for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(rows)], strict=True):
        here = slice(first, last)
        if last > first and parents(start[here], end[here]) is None:
            found += rows[here][_walk(start[here].tolist(), end[here].tolist())].tolist()
    return np.array(sorted(found), np.int64)


def _walk(start: list[int], end: list[int]) -> list[int]:
    found = []
    running: list[int] = []  # ends, ascending
    for index, (begins, ends) in enumerate(zip(start, end, strict=True)):
        del running[: bisect_right(running, begins)]
        if running and running[0] < ends:
            found.append(index)
        insort(running, ends)
    return found
