"""One gap for people: the work that ended it, who launched that, and what the host was doing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide._util.internal_frames import is_internal_frame
from eventide.analysis._launches import launches_of, waits_of
from eventide.analysis._nesting import nests_of
from eventide.analysis._view import View

CAUSES = {
    "host late": "nothing was queued: the host had not launched the next work yet",
    "synchronization": "the host had waited for the device, so nothing was queued behind",
    "compile": "the launching thread was in a compiler",
    "allocator": "the launching thread was in the driver's allocator",
    "launch": "the launching call was running",
    "stream wait": "the work waited for an event of another stream",
    "queued": "the work was launched and waited for nothing recorded: launch latency, or the device was not ready",
    "queue empty": "no further work was launched",
    "unknown": "the trace does not tell",
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
    host_op: str | None  # innermost on that thread in the middle of the host's share; None: nothing recorded
    thread: str | None
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
        return Gap(str(cells["device"]), stream, start, duration, causes, None, None, None, None, None, None)
    launches = launches_of(view)
    call, thread = int(launches.call[work]), int(launches.thread[work])
    host = sum(causes.get(cause, 0) for cause in ("host late", "synchronization", "compile", "allocator"))
    busy_with = _innermost(view, thread, start + host // 2) if host else -1
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
        view.thread(thread) if thread >= 0 else None,
        _waited_for(view, work) if causes.get("stream wait") else None,
        next((line for row in rows if row >= 0 and (line := line_of(view, int(view.stack[row])))), None),
    )


def _innermost(view: View, thread: int, at: int) -> int:
    nest = nests_of(view).get(thread)
    return int(nest.owner_at(np.array([at]))[0]) if nest is not None else -1


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


def line_of(view: View, stack: int) -> str | None:
    """The innermost frame that is the program's: file:line (function)."""
    if stack < 0 or stack >= view.trace.stacks.num_rows:
        return None
    frames = view.trace.stacks.column("frames")[stack].as_py()
    if not frames:
        return None
    frame = next((one for one in frames if not is_internal_frame(one["file"] or "")), frames[0])
    function = f" ({frame['function']})" if frame["function"] else ""
    return f"{frame['file']}:{frame['line']}{function}"
