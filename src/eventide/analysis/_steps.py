"""The steps of a trace: disjoint windows on its clock, from the thread that has the most of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import Ints, View


@dataclass(frozen=True)
class Step:
    """One step, as its host thread saw it."""

    name: str
    start: int
    end: int

    @property
    def duration(self) -> int:
        return self.end - self.start


def steps_of(view: View) -> tuple[Step, ...]:
    """Steps by start. One that runs into the next ends there, so no moment is in two."""
    rows = np.flatnonzero(view.in_categories("step") & view.on_kind("thread") & (view.end > view.start))
    if len(rows) == 0:
        return ()
    tracks, counts = np.unique(view.track[rows], return_counts=True)
    rows = rows[view.track[rows] == tracks[counts.argmax()]]
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    start: Ints = view.start[rows]
    end = np.minimum(view.end[rows], np.append(start[1:], np.iinfo(np.int64).max))
    return tuple(
        Step(view.word(row), low, high)
        for row, low, high in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True)
        if high > low
    )
