"""Eventide: asynchronous work on streams and events, on any device.

import eventide as et

Stream, Event, Future, EventPool          run work and order it              eventide.runtime
Buffer, empty, work, host_access          memory, and who touches it         eventide.runtime
Device, devices, Capabilities             where it runs                      eventide.runtime, eventide.backends
current_stream, default_stream, set_stream, synchronize                      eventide.runtime
hooks                                     hear what happens                  eventide.hooks
sanitize, sanitizer                       is this program right?             eventide.sanitizer
compiling, integrations                   hear when compilers run            eventide.compiling, eventide.integrations
span, instant, counter, Recorder          record what happens                eventide.recording
Trace, open_trace                         what was recorded, as columns      eventide.trace
profile, current_profiler                 record a scope, ask what took time  eventide.profiler
EventideError and its kinds               what goes wrong                    eventide.errors
"""

import os
from typing import TYPE_CHECKING, Any

from eventide import _interpreter, errors, hooks  # noqa: F401 - the first refuses interpreters
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
from eventide.recording import counter, instant, span
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
    host_access,
    set_stream,
    synchronize,
    work,
)

if TYPE_CHECKING:
    from eventide import compiling, integrations, profiler, sanitizer
    from eventide.backends import Capabilities, DeviceBackend
    from eventide.profiler import current_profiler, profile
    from eventide.recording import Recorder
    from eventide.runtime import Future
    from eventide.sanitizer import sanitize
    from eventide.trace import Trace, open_trace

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
    "Recorder",
    "SanitizerError",
    "Stream",
    "StreamError",
    "Trace",
    "TraceFormatError",
    "UsageError",
    "UsageTypeError",
    "UsageValueError",
    "Work",
    "compiling",
    "counter",
    "current_profiler",
    "current_stream",
    "default_stream",
    "devices",
    "empty",
    "errors",
    "hooks",
    "host_access",
    "instant",
    "integrations",
    "open_trace",
    "profile",
    "profiler",
    "sanitize",
    "sanitizer",
    "set_stream",
    "span",
    "synchronize",
    "work",
]

# Lazily imported names and their packages.
_ON_USE = {
    "current_profiler": "profiler",
    "profile": "profiler",
    "profiler": "profiler",
    "Capabilities": "backends",
    "DeviceBackend": "backends",
    "integrations": "integrations",
    "compiling": "compiling",
    "Future": "runtime",
    "Recorder": "recording",
    "Trace": "trace",
    "open_trace": "trace",
    "sanitize": "sanitizer",
    "sanitizer": "sanitizer",
}


def __getattr__(name: str) -> Any:
    """These come when asked for: what they import takes longer than all the rest."""
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    package = import_module(f"eventide.{_ON_USE[name]}")
    return package if _ON_USE[name] == name else getattr(package, name)


if os.environ.get("EVENTIDE_SANITIZE", "0") not in {"", "0"}:
    from eventide.sanitizer import _at_exit

    _at_exit.install(os.environ["EVENTIDE_SANITIZE"])
