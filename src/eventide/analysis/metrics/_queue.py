"""The launch queue of each stream over time: how much work was outstanding, and how long calls waited for room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import launches_of
from eventide.analysis._view import View, view_of
from eventide.analysis.metrics._outstanding import FullQueue, Outstanding, full_queues, outstanding_of
from eventide.trace import Trace


@dataclass(frozen=True)
class QueueRow:
    """One stream. Work is outstanding from the return of its launching call until its end."""

    device: str
    stream: str
    launches: int  # works whose launch is recorded
    most: int  # outstanding at one time
    waiting: int  # of these not started, at most
    mean: float  # outstanding, from the first launch until the last end
    empty: int  # time with nothing outstanding, in that time
    limit: int | None  # works that fit into its queue; None: it was never full
    blocked_calls: int  # calls that waited for room
    blocked: int  # their time


@dataclass(frozen=True, repr=False)
class Queue(show.Result):
    """`levels` has the whole curve: device, stream, time, outstanding, waiting; one row where it changes."""

    start: int
    wall: int
    streams: tuple[QueueRow, ...]
    absent: str | None
    levels: pa.Table = field(repr=False, compare=False)

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "device": show.text,
        "stream": show.text,
        "launches": show.number,
        "most": show.number,
        "waiting": show.number,
        "mean": show.decimal,
        "empty": show.time,
        "limit": show.number,
        "blocked_calls": show.number,
        "blocked": show.time,
    }
    _row: ClassVar[type] = QueueRow

    def _rows(self) -> tuple[QueueRow, ...]:
        return self.streams

    @property
    def blocked(self) -> int:
        """Time of calls that waited for room in a queue, of all threads."""
        return sum(row.blocked for row in self.streams)

    def _heading(self) -> str:
        if self.absent:
            return self.absent
        deepest = max(self.streams, key=lambda row: row.most)
        text = f"at most {f.count(deepest.most, 'work item')} outstanding ({deepest.device} stream {deepest.stream})"
        full = [row for row in self.streams if row.limit is not None]
        if not full:
            return f"{text}; no queue was full"
        calls = f.count(sum(row.blocked_calls for row in full), "launching call")
        return f"{text}; {calls} waited {f.time(self.blocked)} of {f.time(self.wall)} for room in a full queue"


_ABSENT = "the trace does not say which call launched which work, so the length of the queues is not known"


def queue(trace: Trace | View) -> Queue:
    """Count the outstanding work of each stream."""
    view = view_of(trace)
    start, end = view.window
    streams, full = outstanding_of(view), full_queues(view)
    order = [track for track in view.stream_tracks if track in streams]
    rows = [_row(view, track, streams[track], full.get(track)) for track in order]
    names = {"device": [view.device(t) for t in order], "stream": [view.stream(t) for t in order]}
    levels = [streams[track].level for track in order]
    counts = np.array([len(each.times) for each in levels], np.int64)
    columns = {
        name: pa.array(words, pa.string()).dictionary_encode().take(pa.array(np.repeat(np.arange(len(order)), counts)))
        for name, words in names.items()
    }
    for name, field_of in (("time", "times"), ("outstanding", "outstanding"), ("waiting", "waiting")):
        columns[name] = np.concatenate([np.empty(0, np.int64), *(getattr(each, field_of) for each in levels)])
    return Queue(start, end - start, tuple(rows), None if rows else _ABSENT, pa.table(columns))


def _row(view: View, track: int, stream: Outstanding, full: FullQueue | None) -> QueueRow:
    times, outstanding, waiting = stream.level.times, stream.level.outstanding, stream.level.waiting
    length = np.diff(times, append=times[-1])
    whole = int(times[-1] - times[0])
    calls = np.unique(launches_of(view).call[stream.rows[full.blocked]]) if full else np.empty(0, np.int64)
    return QueueRow(
        view.device(track),
        view.stream(track),
        len(stream.rows),
        int(outstanding.max()),
        int(waiting.max()),
        float((outstanding * length).sum() / whole) if whole else 0.0,
        int(length[outstanding == 0].sum()),
        full.limit if full else None,
        len(calls),
        int(view.duration[calls].sum()),
    )
