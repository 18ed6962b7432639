"""What took time, by name: on the host with self time, on the devices by stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._compile import phase_of
from eventide.analysis._host_calls import blocking_of
from eventide.analysis._intervals import union
from eventide.analysis._nesting import nests_of
from eventide.analysis._span_memory import span_memory
from eventide.analysis._view import Ints, View, frame_text, grouped, integers, json_of, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class NameRow:
    """All spans of one name and category; times are nanoseconds."""

    name: str
    category: str
    count: int
    total: int  # on the host: while at least one of them ran on a thread, so that recursion counts once
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


@dataclass(frozen=True, repr=False)
class Summary(show.Result):
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
    tasks: tuple[NameRow, ...]  # of asyncio, from creation to end: several at once on one thread

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "on": show.text,
        "name": show.text,
        "category": show.text,
        "count": show.number,
        "total": show.time,
        "self_time": show.time,
        "min": show.time,
        "median": show.time,
        "max": show.time,
    }
    _row: ClassVar[type] = NameRow
    _more: ClassVar[tuple[str, ...]] = ("on",)

    def _rows(self) -> list[dict[str, object]]:
        parts = (("device", self.device), ("host", self.host), ("task", self.tasks))
        return [{"on": on, **vars(row)} for on, rows in parts for row in rows]

    def _heading(self) -> str:
        return f"{f.time(self.wall)}, {f.count(len(self.streams), 'stream')}, {f.count(len(self.threads), 'thread')}"


@dataclass(frozen=True)
class OperatorRow:
    """All spans of one name and category, of one set of input shapes if these were requested. Times: nanoseconds.

    Memory is bytes that were allocated less those that were freed, on the thread of the span while it ran; None where
    the trace has no allocations. A row "[memory]" has what was allocated outside of all spans.
    """

    name: str
    category: str
    on: str  # "host" or "device"
    count: int
    self_time: int
    total: int
    mean: float
    flops: int
    shapes: str | None
    stack: tuple[str, ...] = ()  # innermost frame first, if rows by stack were requested
    memory: int | None = None
    self_memory: int | None = None  # without that of spans inside
    device_memory: int | None = None
    self_device_memory: int | None = None


@dataclass(frozen=True, repr=False)
class Operators(show.Result):
    """By self time, largest first. Work of devices has no spans inside: its self time is its total."""

    start: int
    wall: int
    rows: tuple[OperatorRow, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "category": show.text,
        "self_time": show.time,
        "total": show.time,
        "mean": show.time,
        "count": show.number,
    }
    _row: ClassVar[type] = OperatorRow

    def _rows(self) -> tuple[OperatorRow, ...]:
        return self.rows

    def _heading(self) -> str:
        return f"{f.time(self.wall)}, {f.count(len(self.rows), 'name')}"


def operators(trace: Trace | View, *, by_shape: bool = False, by_stack: int = 0) -> Operators:
    """The rows of `summary` with FLOPs and memory.

    With `by_shape` there is one row for each set of input shapes, with `by_stack` one for each that many inner frames.
    """
    view = view_of(trace)
    start, end = view.window
    flops, shape, texts = _details(view, by_shape=by_shape, by_stack=by_stack)
    memory = span_memory(view)
    bytes_of = (memory.total[0], memory.own[0], memory.total[1], memory.own[1]) if memory else ()
    inner = np.where(view.bits > 0, view.duration, 0)
    for nest in nests_of(view).values():
        inner[nest.rows] = nest.self_time
    found = []
    for on, chosen in (("host", view.host), ("device", view.bits > 0)):
        every = np.flatnonzero(chosen)
        for code, rows in grouped(every, shape[every], np.argsort(shape[every], kind="stable")).items():
            sums = _sums_by_name(view, rows, flops)
            lengths = _sums_by_name(view, rows, view.duration)
            held = [_sums_by_name(view, rows, each) for each in bytes_of]
            for row in _rows(view, rows, inner):
                mean = lengths[row.name, row.category] / row.count
                about = (row.count, row.self_time, row.total, mean, sums[row.name, row.category])
                sizes = [each[row.name, row.category] for each in held]
                shapes, stack = texts[code]
                found.append(OperatorRow(row.name, row.category, on, *about, shapes, stack, *sizes))
    if memory and memory.outside_count:
        host, device = memory.outside
        numbers = (memory.outside_count, 0, 0, 0.0, 0)
        found.append(OperatorRow("[memory]", "runtime", "host", *numbers, None, (), host, host, device, device))
    found.sort(key=lambda row: (-row.self_time, row.name))
    return Operators(start, end - start, tuple(found))


_Group = tuple[str | None, tuple[str, ...]]  # input shapes and stack


def _details(view: View, *, by_shape: bool, by_stack: int) -> tuple[Ints, Ints, list[_Group]]:
    """The FLOPs of each span; the number of its group: one of input shapes and stacks."""
    flops, shape = np.zeros(view.count, np.int64), np.zeros(view.count, np.int64)
    codes: dict[str | None, int] = {None: 0}
    args = view.trace.spans.column("args")
    pattern = '"flops"|"Input Dims"' if by_shape else '"flops"'
    for row in np.flatnonzero(pc.fill_null(pc.match_substring_regex(args, pattern), False).to_numpy()).tolist():
        about = json_of(args[row].as_py())
        flops[row] = about.get("flops") or 0
        if by_shape and "Input Dims" in about:
            shape[row] = codes.setdefault(json.dumps(about["Input Dims"]), len(codes))
    if not by_stack:
        return flops, shape, [(text, ()) for text in codes]
    stack, stacks = _stack_codes(view, by_stack)
    pairs, group = np.unique(shape * len(stacks) + stack, return_inverse=True)
    shapes = list(codes)
    texts = [divmod(pair, len(stacks)) for pair in pairs.tolist()]
    return flops, group.reshape(-1), [(shapes[number], stacks[place]) for number, place in texts]


def _stack_codes(view: View, depth: int) -> tuple[Ints, list[tuple[str, ...]]]:
    """The number of the innermost frames of each span, and their texts as torch writes them: file(line): function."""
    codes: dict[tuple[str, ...], int] = {(): 0}
    by_row = [0] * view.trace.stacks.num_rows
    for row, frames in enumerate(view.trace.stacks.column("frames").to_pylist()):
        shown = tuple(frame_text(frame) for frame in (frames or ())[:depth])
        by_row[row] = codes.setdefault(shown, len(codes))
    stack = integers(view.trace.spans.column("stack"))
    return np.array([*by_row, 0], np.int64)[stack], list(codes)


def _sums_by_name(view: View, rows: Ints, values: Ints) -> dict[tuple[str, str], int]:
    key = view.name[rows] * len(view.categories) + view.category[rows]
    keys, place = np.unique(key, return_inverse=True)
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, place, values[rows])
    words = [divmod(each, len(view.categories)) for each in keys.tolist()]
    names = [(view.names[name], view.categories[kind]) for name, kind in words]
    return dict(zip(names, sums.tolist(), strict=True))


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
        threads.append(ThreadRow(view.thread(track), len(nest.rows), recorded, max(wall - recorded, 0), blocked))
    work, tasks = np.flatnonzero(view.bits), np.flatnonzero(view.in_categories("task") & ~view.host & (view.bits == 0))
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
        tuple(sorted(_rows(view, tasks, view.duration), key=lambda row: (-row.total, row.name))),
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


def _covered(view: View, rows: Ints) -> Ints:
    """For each span its time in which no earlier span of its name ran on its thread; for work of devices, all of it."""
    every, found = rows, view.duration[rows]
    place = np.flatnonzero(view.host[every])
    rows = every[place]
    key = view.name[rows] * len(view.categories) + view.category[rows]
    order = np.lexsort((-view.end[rows], view.start[rows], key, view.track[rows]))
    rows, key, place = rows[order], key[order], place[order]
    if len(rows) == 0:
        return found
    fresh = np.append(True, (key[1:] != key[:-1]) | (view.track[rows][1:] != view.track[rows][:-1]))
    ends, rank = np.unique(view.end[rows], return_inverse=True)
    group = np.cumsum(fresh) - 1
    reach = ends[np.maximum.accumulate(group * len(ends) + rank) % len(ends)]  # the latest end so far in its group
    before = np.where(fresh, view.start[rows], np.append(reach[:1], reach[:-1]))
    found[place] = np.maximum(view.end[rows] - np.maximum(view.start[rows], before), 0)
    return found


def _stages(view: View, rows: Ints) -> tuple[Ints, list[str]]:
    """Of each span the stage of a compile that it is, as the place in the list; 0: none. Compiles are few."""
    codes, names = np.zeros(len(rows), np.int64), [""]
    places = np.flatnonzero(view.in_categories("compile")[rows])
    args = view.trace.spans.column("args").take(pa.array(rows[places])).to_pylist()
    for place, text in zip(places.tolist(), args, strict=True):
        if phase := phase_of(json_of(text)):
            if phase not in names:
                names.append(phase)
            codes[place] = names.index(phase)
    return codes, names


def _rows(view: View, rows: Ints, self_time: Ints, off_cpu: Ints | None = None) -> list[NameRow]:
    """Group by (name, category), and the stages of compiles by themselves: sort once, then reduce."""
    if len(rows) == 0:
        return []
    stage, stages = _stages(view, rows)
    key = (view.name[rows] * len(view.categories) + view.category[rows]) * len(stages) + stage
    length = view.duration[rows]
    order = np.lexsort((length, key))
    rows, key, length, stage = rows[order], key[order], length[order], stage[order]
    head = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    count = np.diff(np.append(head, len(key)))
    total = np.add.reduceat(_covered(view, rows), head)
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
        name = view.word(row) + (f" ({stages[stage[first]]})" if stage[first] else "")
        found.append(NameRow(name, view.category_of(row), *numbers, float(median[index]), int(largest[index]), cpu))
    return found
