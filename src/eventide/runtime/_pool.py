"""The event pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eventide import _native
from eventide.errors import EventError, UsageTypeError
from eventide.runtime._device import Device, as_device
from eventide.runtime._event import Event

if TYPE_CHECKING:
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
    """

    __slots__ = ("__weakref__",)

    def __init__(self, device: str | Device | None = None) -> None:
        where = as_device(device)
        super().__init__(where.type, where.index or 0)

    def acquire(self, enable_timing: bool = False, stream: Stream | None = None) -> Event:
        """Take an event. `stream` is what its record() and wait() use when none is given."""
        if stream is not None and not isinstance(stream, _native.StreamBase):
            raise UsageTypeError(f"acquire needs a Stream or None, not {type(stream).__name__}")
        return self._acquire(bool(enable_timing), stream)

    def acquire_id(self, enable_timing: bool = False) -> int:
        """Take an event by id; it stays in use until release(id)."""
        return self._acquire_id(bool(enable_timing))

    def release(self, event: Event | int) -> None:
        """Release an event now. Its handle becomes unusable."""
        if not self._release(self._get(event)):
            raise EventError("this event was released to its pool before; acquire another one")

    def record(self, event: Event | int, stream: Stream | None = None) -> None:
        """As Event.record."""
        self._get(event).record(stream)

    def wait(self, event: Event | int, stream: Stream | None = None) -> None:
        """As Event.wait."""
        self._get(event).wait(stream)

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

    def __repr__(self) -> str:
        return f"<EventPool {self.stats()}>"
