"""How long each span took by itself: without the spans inside it, on the same track."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


def self_times(spans: pa.Table) -> npt.NDArray[np.int64]:
    """Nanoseconds for each row. Of spans that only overlap, the part inside is taken from the earlier one."""
    track = spans["track"].to_numpy()
    start = spans["start"].to_numpy()
    duration = spans["duration"].fill_null(0).to_numpy()
    own: npt.NDArray[np.int64] = duration.copy()
    open_: list[tuple[int, int]] = []  # (end, row) of the spans around the current one, outermost first
    last = -1
    for row in np.lexsort((-duration, start, track)).tolist():
        if track[row] != last:
            last = track[row]
            open_.clear()
        while open_ and open_[-1][0] <= start[row]:
            open_.pop()
        end = int(start[row] + duration[row])
        if open_:
            own[open_[-1][1]] -= min(end, open_[-1][0]) - start[row]  # the part that lies in the parent
        if end > start[row]:
            open_.append((end, row))
    return own
