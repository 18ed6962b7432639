"""What took time, by name: on the host with self time, on the devices by stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._blocking import blocking_of
from eventide.analysis._intervals import union
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, integers, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class NameRow:
    """All spans of one name and category; times are nanoseconds."""

    name: str
    category: str
    count: int
    total: int
    self_time: int  # without the time of spans inside; of a device's work the same as total
    min: int
    median: float
    max: int
    off_cpu: int | None = None  # of our own work: time without a core or the GIL, or asleep


@dataclass(frozen=True)
class StreamRow:
    """One stream: how long something ran on it."""

    device: str
    stream: str
    count: int
    busy: int
    idle: int
    wall: int


@dataclass(frozen=True)
class ThreadRow:
    """One host thread: how long a recorded span ran on it. The rest is time of which nothing is recorded."""

    thread: str
    count: int
    recorded: int
    unrecorded: int
    blocked: int  # in a synchronization


@dataclass(frozen=True)
class Summary:
    """By total (device) and self time (host), largest first; `wall` is the trace's whole window."""

    start: int
    wall: int
    device: tuple[NameRow, ...]
    host: tuple[NameRow, ...]
    streams: tuple[StreamRow, ...]
    threads: tuple[ThreadRow, ...]
    sync_count: int
    sync_time: int
    unfinished: int


def summary(trace: Trace | View) -> Summary:
    """Count and add up spans by name."""
    view = view_of(trace)
    start, end = view.window
    wall = end - start
    inner = np.zeros(view.count, np.int64)
    threads = []
    syncs = np.zeros(view.count, bool)
    syncs[blocking_of(view).rows] = True
    for track, nest in nests_of(view).items():
        inner[nest.rows] = nest.self_time
        recorded = int(nest.self_time.sum())
        blocked = int(nest.self_time[syncs[nest.rows]].sum())
        threads.append(ThreadRow(view.thread(track), len(nest.rows), recorded, wall - recorded, blocked))
    work = np.flatnonzero(view.bits)
    return Summary(
        start,
        wall,
        tuple(sorted(_rows(view, work, view.duration, _off_cpu(view)), key=lambda row: (-row.total, row.name))),
        tuple(sorted(_rows(view, np.flatnonzero(view.host), inner), key=lambda row: (-row.self_time, row.name))),
        tuple(_stream(view, track, wall) for track in view.stream_tracks),
        tuple(sorted(threads, key=lambda row: -row.recorded)),
        int(syncs.sum()),
        int(view.duration[syncs].sum()),
        int(view.unfinished.sum()),
    )


def _stream(view: View, track: int, wall: int) -> StreamRow:
    rows = view.work_by_track[track]
    low, high, _ = union(view.start[rows], view.end[rows])
    busy = int((high - low).sum())
    return StreamRow(view.device(track), view.stream(track), len(rows), busy, wall - busy, wall)


def _off_cpu(view: View) -> Ints | None:
    """Wall time less CPU time of work on our own streams; -1 where it was not measured."""
    column = view.trace.spans.column("cpu")
    if column.null_count == len(column):
        return None
    cpu = integers(column)
    return np.where(cpu >= 0, np.maximum(view.duration - cpu, 0), -1)


def _rows(view: View, rows: Ints, self_time: Ints, off_cpu: Ints | None = None) -> list[NameRow]:
    """Group by (name, category): sort once, then reduce."""
    if len(rows) == 0:
        return []
    key = view.name[rows] * len(view.categories) + view.category[rows]
    length = view.duration[rows]
    order = np.lexsort((length, key))
    rows, key, length = rows[order], key[order], length[order]
    head = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    count = np.diff(np.append(head, len(key)))
    total = np.add.reduceat(length, head)
    inner = np.add.reduceat(self_time[rows], head)
    median = (length[head + (count - 1) // 2] + length[head + count // 2]) / 2
    largest = length[head + count - 1]
    off = None
    if off_cpu is not None:
        known = off_cpu[rows]
        off = np.where(np.minimum.reduceat(known, head) >= 0, np.add.reduceat(known, head), -1).tolist()
    found = []
    for index, first in enumerate(head.tolist()):
        row = int(rows[first])
        cpu = off[index] if off is not None and off[index] >= 0 else None
        numbers = (int(count[index]), int(total[index]), int(inner[index]), int(length[first]))
        found.append(
            NameRow(view.word(row), view.category_of(row), *numbers, float(median[index]), int(largest[index]), cpu)
        )
    return found
