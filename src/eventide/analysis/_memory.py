"""Memory over time: the curve of each device, its peak, and the allocations that held it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Bools, Ints, View, codes, integers, line_of, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class Blocks:
    """One block of memory a row. Not born: it was allocated before the recording. Not died: it outlived it."""

    device: Ints
    devices: list[str]
    begin: Ints
    end: Ints
    bytes: Ints
    born: Bools
    died: Bools
    thread: Ints
    stack: Ints
    names: list[str] | None


def blocks_of(view: View) -> Blocks:
    """Pair by device and address, in order of time."""
    table = view.trace.operations
    hook, words = codes(table.column("hook"))
    kinds = np.array([{"memory_allocation": 1, "memory_deallocation": -1}.get(word, 0) for word in words])
    kind = kinds[hook] if len(hook) else np.empty(0, np.int64)
    device, devices = codes(table.column("device"))
    of_device = np.array([bool(word) for word in devices])[device]  # else an array of the host, for the sanitizer
    rows = np.flatnonzero((kind != 0) & of_device)
    handle = table.column("handle").fill_null(0).to_numpy().astype(np.uint64)
    time = integers(table.column("time"), 0)
    rows = rows[np.lexsort((rows, time[rows], handle[rows], device[rows]))]
    same = np.append((device[rows][1:] == device[rows][:-1]) & (handle[rows][1:] == handle[rows][:-1]), False)
    size = table.column("bytes").fill_null(0).to_numpy().astype(np.int64)
    birth = np.flatnonzero(kind[rows] > 0)
    # The next operation on the same address ends a block: its free, or another allocation when the free was not seen.
    follower = np.minimum(birth + 1, max(len(rows) - 1, 0))
    ends = same[birth]
    taken = np.zeros(len(rows), bool)
    taken[follower[ends & (kind[rows][follower] < 0)]] = True
    orphan = np.flatnonzero((kind[rows] < 0) & ~taken)
    far = np.iinfo(np.int64).max
    first, last = rows[birth], rows[follower]
    lost = rows[orphan]
    early = np.full(len(lost), np.iinfo(np.int64).min)
    every = np.concatenate((first, lost))
    name, texts = codes(table.column("name"))
    return Blocks(
        device[every],
        devices,
        np.concatenate((time[first], early)),
        np.concatenate((np.where(ends, time[last], far), time[lost])),
        size[every],
        np.repeat([True, False], [len(first), len(lost)]),
        np.concatenate((ends, np.ones(len(lost), bool))),
        integers(table.column("thread"))[every],
        integers(table.column("stack"))[every],
        [texts[number] for number in name[every].tolist()],
    )


_PROCESS = "memory of the process"  # the track on which the sampler counts
_COUNTER = re.compile(r"alloc|memory|reserved|\bbytes\b", re.IGNORECASE)


@dataclass(frozen=True)
class Holder:
    """What held memory at the peak: the allocations of one name or line."""

    name: str
    line: str | None
    count: int
    bytes: int


@dataclass(frozen=True)
class DeviceMemory:
    """One device, or one counter. Of what was allocated before the recording only what was freed in it shows."""

    device: str
    source: str  # "allocations", or the counter's name: then there are no holders
    allocations: int
    frees: int
    peak: int  # bytes
    peak_time: int
    end: int  # bytes held when the trace ends
    before: int  # bytes freed that were allocated before the recording: the curve starts there
    holders: tuple[Holder, ...]
    times: Ints = field(repr=False, compare=False)
    bytes: Ints = field(repr=False, compare=False)

    @property
    def growth(self) -> int:
        """From the first known value to the last."""
        return int(self.bytes[-1] - self.bytes[0]) if len(self.bytes) else 0


@dataclass(frozen=True, repr=False)
class Memory(show.Result):
    """`devices` is empty where the trace has no allocations and no memory counters."""

    start: int  # with `wall` it holds every span and every curve: memory may be allocated before the first span
    wall: int
    origin: int  # the start of the first span, from which the other answers count
    devices: tuple[DeviceMemory, ...]
    process: tuple[DeviceMemory, ...] = ()  # RSS and heap of the whole process; what frameworks allocate is in them

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "device": show.text,
        "source": show.text,
        "allocations": show.number,
        "frees": show.number,
        "peak": show.size,
        "end": show.size,
        "before": show.size,
    }
    _row: ClassVar[type] = DeviceMemory

    def _rows(self) -> list[dict[str, object]]:
        return [{**vars(each), "holders": [vars(holder) for holder in each.holders]} for each in self.devices]

    def _heading(self) -> str:
        return f"{f.count(len(self.devices), 'device')}"


def memory(trace: Trace | View) -> Memory:
    """Curves from allocations where the trace has them, else from the source's counters."""
    view = view_of(trace)
    blocks = blocks_of(view)
    found = [_device(view, blocks, number) for number in np.unique(blocks.device).tolist()] or _counters(view)
    process = _counters(view, of_process=True)
    known = [view.window] if view.count else []
    known += [(int(one.times.min()), int(one.times.max())) for one in found if len(one.times)]
    start, end = min((first for first, _ in known), default=0), max((last for _, last in known), default=0)
    return Memory(start, end - start, view.window[0] if view.count else start, tuple(found), tuple(process))


def _device(view: View, blocks: Blocks, number: int) -> DeviceMemory:
    mine = blocks.device == number
    begin, stop, size = blocks.begin[mine], blocks.end[mine], blocks.bytes[mine]
    born, died = blocks.born[mine], blocks.died[mine]
    time = np.concatenate((begin[born], stop[died]))
    change = np.concatenate((size[born], -size[died]))
    before = int(size[~born].sum())
    # At one time frees come first: a block that is handed on was never held twice.
    order = np.lexsort((change > 0, time))
    time, level = time[order], before + np.cumsum(change[order])
    at = int(level.argmax())
    peak, peak_time, there = int(level[at]), int(time[at]), (begin <= time[at]) & (stop > time[at])
    if peak < before:  # the most was held before the first free
        peak, peak_time, there = before, int(time[0]), ~born
    held = np.flatnonzero(mine)[there]
    return DeviceMemory(
        blocks.devices[number],
        "allocations",
        int(born.sum()),
        int(died.sum()),
        peak,
        peak_time,
        int(level[-1]),
        before,
        _holders(view, blocks, held),
        time,
        level,
    )


def _holders(view: View, blocks: Blocks, held: Ints) -> tuple[Holder, ...]:
    names = _doing(view, blocks.thread[held], blocks.begin[held], blocks.born[held])
    groups: dict[tuple[str, str | None], list[int]] = {}
    for index, row in enumerate(held.tolist()):
        line = line_of(view, int(blocks.stack[row]))
        name = blocks.names[row] if blocks.names is not None and blocks.names[row] else names[index]
        groups.setdefault((name, line), []).append(int(blocks.bytes[row]))
    rows = [Holder(name, line, len(sizes), sum(sizes)) for (name, line), sizes in groups.items()]
    return tuple(sorted(rows, key=lambda row: -row.bytes))


def _doing(view: View, thread: Ints, at: Ints, born: Bools) -> list[str]:
    """What the allocating thread was in."""
    tracks = {tid: track for track, tid in enumerate(view.track_tid) if view.track_kind[track] == "thread"}
    names = ["before the recording"] * len(at)
    for tid in np.unique(thread).tolist():
        nest = nests_of(view).get(tracks.get(tid, -1))
        mine = np.flatnonzero((thread == tid) & born)
        owner = nest.owner_at(at[mine]).tolist() if nest is not None else [-1] * len(mine)
        for index, row in zip(mine.tolist(), owner, strict=True):
            names[index] = view.word(row) if row >= 0 else "no recorded operation"
    return names


def _counters(view: View, *, of_process: bool = False) -> list[DeviceMemory]:
    table = view.trace.counters
    name, words = codes(table.column("name"))
    track = integers(table.column("track"))
    time = integers(table.column("time"), 0)
    value = table.column("value").to_numpy()
    found = []
    for number, word in enumerate(words):
        if not (of_process or _COUNTER.search(word)):
            continue
        for where in np.unique(track[name == number]).tolist():
            if of_process != (where >= 0 and view.track_name[where] == _PROCESS):
                continue
            rows = np.flatnonzero((name == number) & (track == where))
            rows = rows[np.argsort(time[rows], kind="stable")]
            level = np.nan_to_num(value[rows]).astype(np.int64)
            at = int(level.argmax())
            device = (view.track_device[where] if where >= 0 else None) or "host"
            if of_process:
                device = view.process_names.get(view.track_pid[where] or 0, "process")
            numbers = (int(level[at]), int(time[rows[at]]), int(level[-1]), 0)
            found.append(DeviceMemory(device, word, 0, 0, *numbers, (), time[rows], level))
    return found
