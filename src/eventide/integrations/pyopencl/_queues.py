"""Queues and events of pyopencl: each queue is a stream of Eventide; each command's event is recorded after it.

An out-of-order queue is a track like any other, but its commands are not ordered as in a stream: their accesses are not
reported. The same holds after a wait for an unknown event, such as a user event, until the queue is finished.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from types import FrameType
from typing import Any

import pyopencl as cl

from eventide import _native
from eventide.hooks import feed

_numbers = itertools.count(1)
_lock = threading.Lock()  # guards _queues and _events
_queues: dict[int, Queue | None] = {}  # by cl_command_queue; None: Eventide's own, which report through the core
_devices: dict[int, str] = {}  # by cl_device_id
_events: dict[int, Known] = {}  # by cl_event, oldest first
MOST_EVENTS = 1 << 14  # older ones count as unknown
_wait = cl.Event.wait


class Queue:
    """A traced queue."""

    def __init__(self, queue: Any) -> None:
        properties = int(queue.properties)
        flags = cl.command_queue_properties
        self.in_order = not properties & int(flags.OUT_OF_ORDER_EXEC_MODE_ENABLE)
        self.timed = bool(properties & int(flags.PROFILING_ENABLE))
        self.clear = self.in_order  # all that its commands wait for is known
        self._deleted = False
        self.device = device_name(queue.device)
        self.device_key = int(queue.device.int_ptr)
        words = "" if self.in_order else " out of order"
        times = "" if self.timed else " (host times)"
        number = next(_numbers)
        self.stream = feed.ForeignStream(self.device, f"queue {number}{words} on {queue.device.name.strip()}{times}")

    def wait(self, events: Any) -> None:
        """Commands that are enqueued from now on wait for these."""
        for event in events or ():
            known = known_event(event)
            if known is None:
                self.clear = False
            elif known.queue is not self or not self.in_order:
                self.stream.wait(known.id)
                self.clear = self.clear and known.queue.clear

    def finished(self) -> None:
        """All its commands are complete."""
        self.clear = self.in_order

    def delete(self) -> None:
        """No more commands follow. A finish() from now on is cleaning up, not a redundant synchronization."""
        if not self._deleted:
            self._deleted = True
            self.stream.delete()


class Known:
    """The event of a command. `handle` is our own reference: while we hold it, the number is not reused. The program's
    object cannot serve for that, since it may block when it is destroyed.
    """

    __slots__ = ("complete", "handle", "id", "queue")

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.id = feed.new_event()
        self.complete = False  # the host has observed it
        self.handle: Any = None

    def host_observed_completion(self) -> None:
        """Report it once. In an out-of-order queue it implies nothing about earlier commands."""
        if not self.complete and self.queue.in_order:
            self.complete = True
            feed.host_observed_completion(self.queue.stream, self.id)


class _Unordered:
    """The host waits for one command of an out-of-order queue. It takes time, and orders no other command."""

    __slots__ = ("_start",)

    def __init__(self) -> None:
        self._start = time.monotonic_ns()

    def end(self, *, gave_up: bool = False) -> None:  # noqa: ARG002 - as feed.Sync
        """The wait has returned."""
        _native.record_span(None, "event_synchronization", "sync", self._start, time.monotonic_ns())


Sync = feed.Sync | _Unordered


def sync_of(known: Known) -> Sync:
    """The host begins to wait for a command."""
    return feed.Sync(known.queue.stream, known.id) if known.queue.in_order else _Unordered()


class Dropped:
    """Attribute of an event that blocks when it is destroyed, because it keeps memory of the host."""

    __slots__ = ("known",)

    def __init__(self, known: Known) -> None:
        self.known = known

    def __del__(self) -> None:
        try:
            _wait(self.known.handle)
            self.known.host_observed_completion()
        except Exception:  # noqa: BLE001, S110 - at the end of the process, modules may be torn down
            pass


class _QueueOwner:
    """Attribute of the queue's object: reports when that is destroyed."""

    __slots__ = ("key", "queue")

    def __init__(self, key: int, queue: Queue) -> None:
        self.key, self.queue = key, queue

    def __del__(self) -> None:
        try:
            if _queues.get(self.key) is self.queue:
                del _queues[self.key]
            self.queue.delete()
        except Exception:  # noqa: BLE001, S110 - as above
            pass


def known_event(event: Any) -> Known | None:
    """The traced event, if it is one."""
    return _events.get(int(event.int_ptr))


def keep_event(event: Any, known: Known) -> None:
    """Remember it; the oldest one is forgotten beyond MOST_EVENTS."""
    key = int(event.int_ptr)
    known.handle = cl.Event.from_int_ptr(key, True)
    with _lock:
        _events[key] = known
        oldest = _events.pop(next(iter(_events))) if len(_events) > MOST_EVENTS else None
    if oldest is not None:
        feed.event_deleted(oldest.id)


def forget_events() -> None:
    """Forget all."""
    with _lock:
        known = list(_events.values())
        _events.clear()
    for one in known:
        feed.event_deleted(one.id)


def created(queue: Any) -> None:
    """A queue was created: an earlier one with its handle no longer exists."""
    _queues.pop(int(queue.int_ptr), None)
    queue_of(queue)


def queue_of(queue: Any) -> Queue | None:
    """The traced queue, created at its first use; None for those of Eventide's own device."""
    key = int(queue.int_ptr)
    try:
        return _queues[key]
    except KeyError:
        pass
    traced = None if _called_by_eventide() else Queue(queue)
    with _lock:
        traced = _queues.setdefault(key, traced)
    if traced is not None:
        queue._eventide = _QueueOwner(key, traced)  # noqa: SLF001 - ours
    return traced


def device_name(device: Any) -> str:
    """Such as "opencl:Portable Computing Language:0"."""
    key = int(device.int_ptr)
    if key not in _devices:
        platform = device.platform
        place = [int(one.int_ptr) for one in platform.get_devices()]
        _devices[key] = f"opencl:{platform.name.strip()}:{place.index(key) if key in place else len(place)}"
    return _devices[key]


def _called_by_eventide() -> bool:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way
    for _ in range(12):
        if frame is None:
            return False
        if str(frame.f_globals.get("__name__", "")).startswith("eventide.backends."):
            return True
        frame = frame.f_back
    return False
