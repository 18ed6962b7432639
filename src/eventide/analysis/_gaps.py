"""The gaps of a set of streams: every stretch of the trace in which none of them runs anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._intervals import union
from eventide.analysis._view import Ints, View


@dataclass(frozen=True)
class Gaps:
    """[start, end) each; `next` is the row of the work that ends it, -1 where the trace ends."""

    start: Ints
    end: Ints
    next: Ints


def gaps_of(view: View, tracks: list[int]) -> Gaps:
    """Gaps by time, the ones before the first and after the last work among them."""
    if not tracks:
        empty = np.empty(0, np.int64)
        return Gaps(empty, empty, empty)
    rows = np.concatenate([view.work_by_track[track] for track in tracks])
    if len(tracks) > 1:
        rows = rows[np.argsort(view.start[rows], kind="stable")]
    begin, end = view.window
    low, high, head = union(view.start[rows], view.end[rows])
    start = np.append(begin, high)
    stop = np.append(low, end)
    follower = np.append(rows[head], -1)
    keep = stop > start
    return Gaps(start[keep], stop[keep], follower[keep])
