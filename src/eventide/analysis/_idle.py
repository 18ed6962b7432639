"""Every gap of every device, split by what the next work on it was waiting for. The parts of a gap sum to it.

The cause is the constraint that was lifted last: an event of another stream, else the host's launch. What is not in the
trace is `unknown`; nothing is guessed from lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from eventide.analysis._gaps import Gaps, gaps_of
from eventide.analysis._host_late import split_host
from eventide.analysis._idle_rows import CAUSES, Gap, gap_rows
from eventide.analysis._launches import NEVER, Launches, launches_of, unseen_waits, waits_of
from eventide.analysis._view import Ints, View, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class Lane:
    """A device (stream None: idle while none of its streams runs anything) or one stream. busy + idle = wall."""

    device: str
    stream: str | None
    wall: int
    busy: int
    idle: int
    gaps: int
    causes: dict[str, int]  # cause -> time; sums to idle


@dataclass(frozen=True)
class Idle:
    """`lanes` is empty where the trace has no device work. `table` has one row a gap, a column for each cause."""

    start: int
    wall: int
    lanes: tuple[Lane, ...]
    table: pa.Table = field(repr=False, compare=False)
    _view: View = field(repr=False, compare=False)

    def worst(self, count: int = 10, cause: str | None = None) -> tuple[Gap, ...]:
        """The longest gaps, or those with the most of one cause."""
        column = self.table.column(cause or "duration").to_numpy()
        order = np.argsort(-column, kind="stable")[:count]
        return gap_rows(self._view, self.table, [row for row in order.tolist() if column[row] > 0])


def idle(trace: Trace | View, by: str = "device") -> Idle:
    """Explain the gaps of each device (by="device") or of each stream (by="stream")."""
    view = view_of(trace)
    start, end = view.window
    lanes, tables = [], []
    for device, tracks in view.devices.items():
        for mine in [tracks] if by == "device" else [[track] for track in tracks]:
            stream = None if by == "device" else view.stream(mine[0])
            gaps = gaps_of(view, mine)
            parts = causes_of(view, gaps)
            total = {cause: int(time.sum()) for cause, time in parts.items()}
            empty = int((gaps.end - gaps.start).sum())
            causes = {cause: time for cause, time in total.items() if time}
            lanes.append(Lane(device, stream, end - start, end - start - empty, empty, len(gaps.start), causes))
            tables.append(_table(device, stream, gaps, parts, view))
    table = pa.concat_tables(tables) if tables else _table("", None, gaps_of(view, []), {}, view)
    return Idle(start, end - start, tuple(lanes), table, view)


def causes_of(view: View, gaps: Gaps) -> dict[str, Ints]:
    """How much of each gap is due to each cause."""
    parts = {cause: np.zeros(len(gaps.start), np.int64) for cause in CAUSES}
    launches, waits = launches_of(view), waits_of(view)
    last = gaps.next < 0
    parts["queue empty"][last] = (gaps.end - gaps.start)[last]
    rows = np.flatnonzero(~last)
    work, low, high = gaps.next[rows], gaps.start[rows], gaps.end[rows]
    known = launches.begin[work] != NEVER
    parts["unknown"][rows[~known]] = (high - low)[~known]
    rows, work, low, high = rows[known], work[known], low[known], high[known]
    asked = np.clip(launches.begin[work], low, high)
    # An event that was done after the host asked is what the work waited for, and the host being late cost nothing.
    waited = np.clip(waits.end[work], low, high)
    bound = (waits.end[work] > launches.begin[work]) & (waited > low)
    parts["stream wait"][rows] = np.where(bound, waited - low, 0)
    host_end = np.where(bound, low, asked)
    called = np.clip(launches.end[work], np.where(bound, waited, asked), high)
    parts["launch"][rows] = called - np.where(bound, waited, asked)
    unsure = unseen_waits(view)[work]
    parts["unknown"][rows] += np.where(unsure, high - called, 0)
    parts["queued"][rows] = np.where(unsure, 0, high - called)
    for cause, time in split_host(view, launches.thread[work], low, host_end).items():
        parts[cause][rows] += time
    return parts


def _table(device: str, stream: str | None, gaps: Gaps, parts: dict[str, Ints], view: View) -> pa.Table:
    count = len(gaps.start)
    launches: Launches = launches_of(view)
    work = np.maximum(gaps.next, 0)
    known = (gaps.next >= 0) & (launches.begin[work] != NEVER) if view.count else np.zeros(count, bool)
    submit = launches.begin[work] if view.count else np.zeros(count, np.int64)
    columns = {
        "device": pa.array([device] * count, pa.string()),
        "stream": pa.array([stream] * count, pa.string()),
        "start": pa.array(gaps.start),
        "duration": pa.array(gaps.end - gaps.start),
        "next": pa.array(gaps.next, mask=gaps.next < 0),  # row of spans
        "submit": pa.array(submit, mask=~known),
        **{cause: pa.array(parts.get(cause, np.zeros(count, np.int64))) for cause in CAUSES},
    }
    return pa.table(columns)
