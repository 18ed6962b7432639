"""When commands ran: read in batches from complete events, while the program blocks anyway, on the clock of the trace.

This also measures the clock of a device: a driver stores when it received a command (QUEUED), which is between two
readings of the host's clock. Queues without timestamps get host times: from the call to when we detected completion.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, NamedTuple

import pyopencl as cl

from eventide import _native
from eventide.integrations.pyopencl._queues import Queue

BATCH = 1024  # pending commands before they are polled
MOST = 1 << 16  # beyond this number the oldest has no end in the trace

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
_COMPLETE = int(cl.command_execution_status.COMPLETE)
_get_info = cl.Event.get_info


class Command(NamedTuple):
    """A command whose times are pending. The call that enqueued it lasted from `before` to `after`."""

    queue: Queue
    work: int
    event: Any
    before: int
    after: int


_pending: deque[Command] = deque(maxlen=MOST)
_lock = threading.Lock()  # one harvest at a time
_clocks: dict[int, Any] = {}  # by cl_device_id


def keep(queue: Queue, work: int, event: Any, before: int) -> None:
    """Read the times of this command later. `event` is our own reference."""
    _pending.append(Command(queue, work, event, before, time.monotonic_ns()))
    if len(_pending) >= BATCH and len(_pending) % BATCH == 0:
        harvest()


def harvest() -> None:
    """Record the times of all complete commands."""
    if not _lock.acquire(blocking=False):
        return
    try:
        complete: list[tuple[Command, int]] = []
        for _ in range(len(_pending)):
            try:
                command = _pending.popleft()
            except IndexError:
                break
            status = int(_get_info(command.event, _STATUS))
            if status > _COMPLETE:
                _pending.append(command)
            else:
                complete.append((command, status))
        _record(complete)
    finally:
        _lock.release()


def forget() -> None:
    """Discard what is pending."""
    _pending.clear()


class _Times(NamedTuple):
    queued: int
    start: int
    end: int


def _record(complete: list[tuple[Command, int]]) -> None:
    times = [_times(command, status) for command, status in complete]
    _measure([(command, one) for (command, _), one in zip(complete, times, strict=True) if one is not None])
    now = time.monotonic_ns()
    for (command, status), one in zip(complete, times, strict=True):
        clock = _clocks.get(command.queue.device_key)
        if one is None or clock is None:
            start, end = command.after, now
        else:
            start = max(command.before, clock.at(one.start)[0])
            end = max(start, clock.at(one.end)[0])
        command.queue.stream.complete(command.work, start, end, ok=status == _COMPLETE)


def _times(command: Command, status: int) -> _Times | None:
    if not command.queue.timed or status < 0:
        return None
    what = cl.profiling_info
    try:
        queued, start, end = (int(command.event.get_profiling_info(one)) for one in (what.QUEUED, what.START, what.END))
    except cl.Error:
        return None
    return _Times(queued, start, end) if start and end else None


def _measure(batch: list[tuple[Command, _Times]]) -> None:
    """The tightest reading of each device's clock that this batch has."""
    best: dict[int, tuple[int, int, int]] = {}
    for command, times in batch:
        if not times.queued:
            continue
        key = command.queue.device_key
        known = best.get(key)
        if known is None or command.after - command.before < known[2] - known[0]:
            best[key] = (command.before, times.queued, command.after)
    for key, reading in best.items():
        if key not in _clocks:
            _clocks[key] = _native.ClockModel()
        _clocks[key].add(*reading)
