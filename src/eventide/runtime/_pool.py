"""Event pools, and the one of each device that a process shares."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple, cast

from eventide import _native
from eventide._util import process
from eventide.errors import EventError, UsageTypeError, UsageValueError
from eventide.runtime._device import Device, as_device
from eventide.runtime._event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.runtime._stream import Stream


class PoolStats(NamedTuple):
    """The counters of a pool."""

    created: int
    """Events created so far."""
    in_use: int
    """Events that are acquired and not released."""
    cached: int
    """Released events, ready for reuse."""
    reused: int
    """How often an acquired event was reused."""


class EventPool(_native.EventPoolBase):
    """Events for reuse: the last one released is acquired first, and keeps its id.

    ``acquire`` returns an Event that releases itself when dropped; ``acquire_id`` one that lives until ``release``. All
    methods take the event or its id. A reused event is like a new one, even if it was released while pending.

    ``EventPool(stream)`` is a pool for the device of that stream, on which record() and wait() are where none is given;
    without it that is the current stream. ``eventide.event_pool("cpu")`` is one that all parts of a process share.
    """

    __slots__ = ("__weakref__", "_default_stream")

    def __init__(self, device: str | Device | Stream | None = None, *, default_stream: Stream | None = None) -> None:
        if isinstance(device, _native.StreamBase):
            if default_stream is not None:
                raise UsageTypeError(
                    f"EventPool() got two default streams, {device!r} and {default_stream!r}; give one"
                )
            device, default_stream = None, cast("Stream", device)
        _check_stream("EventPool()", default_stream)
        if default_stream is not None and device is None:
            device = default_stream.device
        where = as_device(device)
        if default_stream is not None and default_stream.device_type != where.type:
            raise UsageValueError(
                f"{default_stream!r} cannot be the default stream of a pool for {where.type!r}: events are recorded "
                "on streams of their own device type"
            )
        self._default_stream = default_stream
        super().__init__(where.type, where.index or 0)

    @property
    def default_stream(self) -> Stream | None:
        """The stream of record() and wait() where none is given; None: the current one."""
        return self._default_stream

    def acquire(self, enable_timing: bool = False, stream: Stream | None = None) -> Event:
        """Take an event. `stream` is what its record() and wait() use when none is given; else that of the pool."""
        _check_stream("acquire", stream)
        return self._acquire(bool(enable_timing), stream if stream is not None else self._default_stream)

    def acquire_id(self, enable_timing: bool = False) -> int:
        """Take an event by id; it stays in use until release(id)."""
        return self._acquire_id(bool(enable_timing))

    def release(self, event: Event | int) -> None:
        """Release an event now. Its handle becomes unusable."""
        if not self._release(self._get(event)):
            raise EventError("this event was released to its pool before; acquire another one")

    def record(self, event: Event | int, stream: Stream | None = None, sync_event: bool = False) -> None:
        """As Event.record. The flag is that of torch's MPS events, and has no effect."""
        self._get(event).record(self._stream_of(event, stream), sync_event=sync_event)

    def wait(self, event: Event | int, stream: Stream | None = None, sync_event: bool = False) -> None:
        """As Event.wait. The flag is that of torch's MPS events, and has no effect."""
        self._get(event).wait(self._stream_of(event, stream), sync_event=sync_event)

    def notify(self, event: Event | int, fn: Callable[[Event], object]) -> bool:
        """As Event.notify."""
        return self._get(event).notify(fn)

    def query(self, event: Event | int) -> bool:
        """As Event.query."""
        return self._get(event).query()

    def synchronize(self, event: Event | int, timeout: float | None = None) -> None:
        """As Event.synchronize."""
        self._get(event).synchronize(timeout)

    def elapsed_time(self, start: Event | int, end: Event | int) -> float:
        """As Event.elapsed_time."""
        return self._get(start).elapsed_time(self._get(end))

    def stats(self) -> PoolStats:
        """The counters of the pool."""
        return PoolStats(*self._stats())

    def _get(self, event: Event | int) -> Event:
        if isinstance(event, Event):
            return event
        if not isinstance(event, int) or isinstance(event, bool):
            raise UsageTypeError(f"methods of a pool take an Event or its id, not {type(event).__name__}")
        return self._find(event)

    def _stream_of(self, event: Event | int, stream: Stream | None) -> Stream | None:
        """An event has the default stream that it was acquired with; an id has that of the pool."""
        return self._default_stream if stream is None and isinstance(event, int) else stream

    def __repr__(self) -> str:
        return f"<EventPool {self.stats()}>"


def _check_stream(where: str, stream: object) -> None:
    if stream is not None and not isinstance(stream, _native.StreamBase):
        raise UsageTypeError(f"{where} needs a Stream or None, not {type(stream).__name__}")


class _Shared:
    """The pools that a process shares, by device."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a forked child: the events are the parent's, and a thread of the parent may hold the lock."""
        self.lock = threading.Lock()  # guards `pools`
        self.pools: dict[Device, EventPool] = {}

    def pool(self, device: Device) -> EventPool:
        with self.lock:
            if device not in self.pools:
                self.pools[device] = EventPool(device)
            return self.pools[device]


_shared = _Shared()
process.after_fork(_shared.forget)


def event_pool(device: str | Device | None = None) -> EventPool:
    """The pool of a device that all parts of this process share; made on first use."""
    return _shared.pool(as_device(device))
