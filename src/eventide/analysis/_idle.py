"""Every gap of every device, split by what the next work on it was waiting for. The parts of a gap sum to it.

The cause is the constraint that was lifted last: an event of another stream, else the host's launch. What is not in the
trace is `unknown`; nothing is guessed from lengths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._extent import cut_short
from eventide.analysis._host_calls import NEVER, Launches, blocking_of, launches_of, unseen_waits, waits_of
from eventide.analysis._host_lines import host_lines
from eventide.analysis._intervals import Shares, covered_by, shares, union
from eventide.analysis._lint import captured, captures
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, grouped, line_of, view_of
from eventide.errors import UsageValueError
from eventide.trace import Trace


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


_ALLOCATOR = re.compile(r"(malloc|free|hostalloc|hostregister|hostunregister|mempool|memcreate|memmap)", re.IGNORECASE)
_BESIDE = ("compile", "allocator", "capture")
_COMPILE, _ALLOC, _SYNC, _UNSEEN, _CAPTURE = 1, 2, 4, 8, 16


def split_host(view: View, thread: Ints, start: Ints, end: Ints) -> dict[str, Ints]:
    """Split each [start, end) by what the thread was in: compiler, driver's allocator, capture, call that blocks.

    Where the device ran dry while the thread was in a synchronization, all that follows until the launch is due to
    it: the host could not have queued anything. The rest is "host late". Parts of an interval sum to it.
    """
    length = end - start
    found = {
        cause: np.zeros(len(start), np.int64)
        for cause in ("compile", "allocator", "capture", "synchronization", "host late")
    }
    found["host late"] = length.copy()
    for track in np.unique(thread[length > 0]).tolist():
        if track < 0:
            continue
        mine = np.flatnonzero((thread == track) & (length > 0))
        masks, (low, high) = view.remember(f"doings of {track}", partial(_doings, view, track))
        parts = masks.within(start[mine], end[mine])
        compiling = _time_in(parts, _COMPILE)
        allocating = _time_in(parts, _ALLOC, but=_COMPILE)
        capturing = _time_in(parts, _CAPTURE, but=_COMPILE | _ALLOC)
        blocked = _time_in(parts, _SYNC, but=_COMPILE | _ALLOC | _CAPTURE)
        rest = length[mine] - compiling - allocating - capturing
        drained = covered_by(low, high, start[mine]) >= 0
        waiting = np.where(drained, rest, blocked)
        times = {"compile": compiling, "allocator": allocating, "capture": capturing, "synchronization": waiting}
        for cause, time in times.items():
            found[cause][mine] = time
        found["host late"][mine] = rest - waiting
    return found


def _time_in(parts: dict[int, Ints], bit: int, but: int = 0) -> Ints:
    """The time with this bit and none of the others."""
    nothing = np.zeros_like(parts[0])
    return sum((time for mask, time in parts.items() if mask & bit and not mask & but), nothing)


def _doings(view: View, track: int) -> tuple[Shares, tuple[Ints, Ints]]:
    """When the thread compiled, allocated, blocked and captured; and its synchronizations as disjoint intervals.

    Work that ends after the call that waited for it, by no more than the clocks differ, ended in it.
    """
    rows = view.host_by_track.get(track, np.empty(0, np.int64))
    allocator = np.array([bool(_ALLOCATOR.search(name)) for name in view.names], dtype=bool)
    blocking = blocking_of(view)
    chosen = {
        _COMPILE: rows[view.in_categories("compile")[rows]],
        _ALLOC: rows[(view.in_categories("runtime")[rows]) & allocator[view.name[rows]]],
        _SYNC: rows[np.isin(rows, blocking.rows)],
        _UNSEEN: rows[np.isin(rows, blocking.rows[blocking.source < 0])],
    }
    syncs = chosen[_SYNC]
    low, high, _ = union(view.start[syncs], view.end[syncs] + blocking.skew)
    times = {bit: (view.start[some], view.end[some]) for bit, some in chosen.items()}
    return shares({**times, _CAPTURE: captures(view, track)}), (low, high)


CAUSES = {
    "host late": "nothing was queued: the host had not launched the next work yet",
    "synchronization": "the host had waited for the device, so nothing was queued behind",
    "compile": "the launching thread was in a compiler",
    "allocator": "the launching thread was in the driver's allocator",
    "capture": "the host captured a graph: what it launches then does not run",
    "launch": "the launching call was running",
    "stream wait": "the work waited for an event of another stream",
    "queued": "the work was launched and waited for nothing recorded: launch latency, or the device was not ready",
    "queue empty": "the device's last work had ended, and no further work was launched",
    "unknown": "not recorded",
}


@dataclass(frozen=True)
class Gap:
    """A stretch in which a device or stream ran nothing."""

    device: str
    stream: str | None
    start: int
    duration: int
    causes: dict[str, int]  # sums to duration
    next_work: str | None  # what ran then; None: nothing did
    launched_by: str | None  # the host operation that launched it
    host_op: str | None  # what fills the host's share of the gap; None: nothing recorded does
    thread: str | None  # the one that launched the next work, or in whose place another one worked
    inferred: bool  # that other thread is tied to the launching one by an inference
    waited_for: str | None  # "event 3 of stream 7 (sgemm)"
    line: str | None  # file:line (function), where a stack is known

    @property
    def cause(self) -> str:
        """The largest part."""
        return max(self.causes, key=lambda cause: self.causes[cause])


def gap_rows(view: View, table: pa.Table, rows: list[int]) -> tuple[Gap, ...]:
    return tuple(_gap(view, cells) for cells in table.take(pa.array(rows, pa.int64())).to_pylist())


def _gap(view: View, cells: dict[str, object]) -> Gap:
    causes = {cause: time for cause in CAUSES if (time := int(str(cells[cause])))}
    start, duration = int(str(cells["start"])), int(str(cells["duration"]))
    stream = None if cells["stream"] is None else str(cells["stream"])
    work = -1 if cells["next"] is None else int(str(cells["next"]))
    if work < 0:
        return Gap(str(cells["device"]), stream, start, duration, causes, None, None, None, None, False, None, None)
    launches = launches_of(view)
    call, thread = int(launches.call[work]), int(launches.thread[work])
    host = sum(causes.get(cause, 0) for cause in ("host late", "synchronization", *_BESIDE))
    busy_with = filler(view, thread, start, start + host) if host else -1
    busy_on = int(view.track[busy_with]) if busy_with >= 0 else thread
    launcher = _parent(view, thread, call)
    rows = (work, call, launcher, busy_with)
    return Gap(
        str(cells["device"]),
        stream,
        start,
        duration,
        causes,
        view.word(work),
        view.word(launcher) if launcher >= 0 else None,
        view.word(busy_with) if busy_with >= 0 else None,
        view.thread(busy_on) if busy_on >= 0 else None,
        host_lines(view).inferred(thread, busy_on),
        _waited_for(view, work) if causes.get("stream wait") else None,
        next((line for row in rows if row >= 0 and (line := line_of(view, int(view.stack[row])))), None),
    )


def filler(view: View, thread: int, start: int, end: int) -> int:
    """A span of the name that fills [start, end) on a thread or those it is tied to; -1: nothing recorded fills half.

    Of several names that each fill over half the one with the shortest spans is innermost; else the most time decides.
    The spans of a name are as long as the one around most of its time: an iterator of iterators has short ones, too.
    """
    lines = host_lines(view)
    tracks = lines.threads.get(lines.line_of.get(thread, -1), [thread])
    threads = [view.host_by_track[track] for track in tracks if track in view.host_by_track]
    rows = np.concatenate(threads) if threads else np.empty(0, np.int64)
    rows = rows[(view.start[rows] < end) & (view.end[rows] > start)]
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    low, high = np.maximum(view.start[rows], start), np.minimum(view.end[rows], end)
    if (np.subtract(*union(low, high)[1::-1])).sum() * 2 <= end - start:
        return -1
    found = []
    for name, mine in grouped(
        np.arange(len(rows)), view.name[rows], np.argsort(view.name[rows], kind="stable")
    ).items():
        covered = int(np.subtract(*union(low[mine], high[mine])[1::-1]).sum())
        longest = mine[(high - low)[mine].argmax()]
        half = covered * 2 > end - start
        time = (high - low)[mine]
        length = int((time * (view.duration[rows[mine]] / time.sum())).sum())  # the mean over the time in them
        found.append((half, -length if half else covered, covered, -name, int(rows[longest])))
    return max(found)[-1]


def _parent(view: View, thread: int, call: int) -> int:
    """The operation around a launching call."""
    nest = nests_of(view).get(thread)
    if nest is None or call < 0:
        return -1
    place = np.flatnonzero(nest.rows == call)
    if len(place) == 0 or nest.parent[place[0]] < 0:
        return -1
    return int(nest.rows[nest.parent[place[0]]])


def _waited_for(view: View, work: int) -> str:
    waits = waits_of(view)
    source, track, event = int(waits.source[work]), int(waits.source_track[work]), int(waits.event[work])
    name = f"event {event}" if event >= 0 else "an event"
    where = f" of stream {view.stream(track)}" if track >= 0 else ""
    return name + where + (f" ({view.word(source)})" if source >= 0 else "")


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
    blocked: int  # of the idle time: while a host thread was in a blocking call


@dataclass(frozen=True, repr=False)
class Idle(show.Result):
    """`lanes` is empty where the trace has no device work. `table` has one row a gap, a column for each cause."""

    start: int
    wall: int
    lanes: tuple[Lane, ...]
    table: pa.Table = field(repr=False, compare=False)
    _view: View = field(repr=False, compare=False)

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "device": show.text,
        "stream": show.text,
        "cause": show.text,
        "time": show.time,
        "gaps": show.number,
    }

    def _rows(self) -> pa.Table:
        return self.table

    def _printed(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for lane in self.lanes:
            where = {"device": lane.device, "stream": lane.stream}
            found.append({**where, "cause": "all", "time": lane.idle, "gaps": lane.gaps})
            causes = sorted(lane.causes.items(), key=lambda item: -item[1])
            found += [{**where, "cause": cause, "time": time} for cause, time in causes]
        return found

    def _heading(self) -> str:
        return f"{f.time(self.wall)}, idle time of {f.count(len({lane.device for lane in self.lanes}), 'device')}"

    def worst(self, count: int = 10, cause: str | None = None, device: str | None = None) -> tuple[Gap, ...]:
        """The longest gaps, or those with the most of one cause; of all devices or of one."""
        column = self.table.column(cause or "duration").to_numpy()
        if device is not None:
            column = column * (self.table.column("device").to_numpy(zero_copy_only=False) == device)
        order = np.argsort(-column, kind="stable")[:count]
        return gap_rows(self._view, self.table, [row for row in order.tolist() if column[row] > 0])


def idle(trace: Trace | View, by: Literal["device", "stream"] = "device") -> Idle:
    """Explain the gaps of each device (by="device") or of each stream (by="stream")."""
    if by not in ("device", "stream"):
        raise UsageValueError(f"idle(by={by!r}): use 'device' or 'stream'")
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
            blocked = _blocked(view, gaps)
            lanes.append(
                Lane(device, stream, end - start, end - start - empty, empty, len(gaps.start), causes, blocked)
            )
            tables.append(_table(device, stream, gaps, parts, view))
    table = pa.concat_tables(tables) if tables else _table("", None, gaps_of(view, []), {}, view)
    return Idle(start, end - start, tuple(lanes), table, view)


def _blocked(view: View, gaps: Gaps) -> int:
    """How much of the gaps lies in blocking calls."""
    rows = blocking_of(view).rows
    calls = view.remember("blocked time", lambda: shares({_SYNC: (view.start[rows], view.end[rows])}))
    return int(sum(time.sum() for mask, time in calls.within(gaps.start, gaps.end).items() if mask))


def recorded_until(view: View) -> int:
    """Until when the trace holds all work that was launched: after its last work the device may have gone on."""
    return view.remember("recorded until", lambda: _recorded_until(view))


def _recorded_until(view: View) -> int:
    """Until the first call without work after those that launched some; a file that was cut may lack more of them."""
    if cut_short(view.trace.metadata) is not None:
        return int(NEVER)
    calls = launches_of(view).call
    calls = np.unique(calls[calls >= 0])
    if len(calls) == 0 or view.trace.operations.num_rows:  # our recordings hold what became of each submission
        return view.window[1]
    launching = np.zeros(len(view.names), bool)
    launching[view.name[calls]] = True
    later = launching[view.name] & view.in_categories("runtime") & view.on_kind("thread")
    later &= view.start > view.start[calls].max()
    rows = np.flatnonzero(later)
    rows = rows[~captured(view, rows)]
    return int(view.start[rows].min(initial=view.window[1]))


def causes_of(view: View, gaps: Gaps) -> dict[str, Ints]:
    """How much of each gap is due to each cause."""
    parts = {cause: np.zeros(len(gaps.start), np.int64) for cause in CAUSES}
    launches, waits = launches_of(view), waits_of(view)
    last = gaps.next < 0
    empty = np.clip(recorded_until(view), gaps.start, gaps.end) - gaps.start
    parts["queue empty"][last] = empty[last]
    for gap in np.flatnonzero(last & (empty > 0)).tolist():
        low = gaps.start[gap : gap + 1]
        moved = int(_all_captures(view).within(low, low + empty[gap]).get(_CAPTURE, low * 0)[0])
        parts["queue empty"][gap] -= moved
        parts["capture"][gap] += moved
    parts["unknown"][last] = (gaps.end - gaps.start - empty)[last]
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
    if view.trace.operations.num_rows == 0:  # of a recording of another tool: work before its start is not in it
        unsure = unsure | (low == view.window[0])
    parts["unknown"][rows] += np.where(unsure, high - called, 0)
    parts["queued"][rows] = np.where(unsure, 0, high - called)
    for cause, time in split_host(view, launches.thread[work], low, host_end).items():
        parts[cause][rows] += time
    if view.trace.operations.num_rows == 0:
        _before_all(view, gaps, parts)
    return parts


def _all_captures(view: View) -> Shares:
    """When any thread captured a graph."""
    each = [captures(view, track) for track in view.host_by_track]
    low, high = (np.concatenate([one[side] for one in each]) if each else np.empty(0, np.int64) for side in (0, 1))
    return view.remember("captures", lambda: shares({_CAPTURE: (low, high)}))


def _before_all(view: View, gaps: Gaps, parts: dict[str, Ints]) -> None:
    """A call that blocks before the first recorded work may wait for work that is not in the trace."""
    for gap in np.flatnonzero((gaps.start == view.window[0]) & (parts["synchronization"] > 0)).tolist():
        track = int(launches_of(view).thread[gaps.next[gap]])
        masks, _ = view.remember(f"doings of {track}", partial(_doings, view, track))
        host = sum(int(parts[cause][gap]) for cause in ("host late", "synchronization", *_BESIDE))
        low = gaps.start[gap : gap + 1]
        moved = int(_time_in(masks.within(low, low + host), _UNSEEN, but=_COMPILE | _ALLOC | _CAPTURE)[0])
        parts["synchronization"][gap] -= moved
        parts["unknown"][gap] += moved


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
