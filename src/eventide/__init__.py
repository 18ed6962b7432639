"""Eventide: asynchronous work on streams and events, on any device.

import eventide as et

Stream, Event, Future, EventPool          run work and order it              eventide.runtime
Buffer, empty, work                       memory, and work that declares it  eventide.runtime
Device, devices, Capabilities             where it runs                      eventide.runtime, eventide.backends
current_stream, default_stream, set_stream, synchronize                      eventide.runtime
hooks                                     hear what happens                  eventide.hooks
EventideError and its kinds               what goes wrong                    eventide.errors
"""

from typing import TYPE_CHECKING, Any

from eventide import errors, hooks
from eventide.errors import (
    DeadlockError,
    DeviceError,
    EventError,
    EventideError,
    InternalError,
    SanitizerError,
    StreamError,
    TraceFormatError,
    UsageError,
    UsageTypeError,
    UsageValueError,
)
from eventide.runtime import (
    Buffer,
    Device,
    Event,
    EventPool,
    PoolStats,
    Stream,
    Work,
    current_stream,
    default_stream,
    devices,
    empty,
    set_stream,
    synchronize,
    work,
)

if TYPE_CHECKING:
    from eventide.backends import Capabilities, DeviceBackend
    from eventide.runtime import Future

__version__ = "0.1.0"

__all__ = [
    "Buffer",
    "Capabilities",
    "DeadlockError",
    "Device",
    "DeviceBackend",
    "DeviceError",
    "Event",
    "EventError",
    "EventPool",
    "EventideError",
    "Future",
    "InternalError",
    "PoolStats",
    "SanitizerError",
    "Stream",
    "StreamError",
    "TraceFormatError",
    "UsageError",
    "UsageTypeError",
    "UsageValueError",
    "Work",
    "current_stream",
    "default_stream",
    "devices",
    "empty",
    "errors",
    "hooks",
    "set_stream",
    "synchronize",
    "work",
]


def __getattr__(name: str) -> Any:
    """These come when asked for: what they import takes longer than all the rest."""
    if name in ("Capabilities", "DeviceBackend"):
        from eventide import backends

        return getattr(backends, name)
    if name == "Future":
        from eventide.runtime import Future

        return Future
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
