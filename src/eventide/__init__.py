"""Eventide: asynchronous work on streams and events, on any device.

import eventide as et

Stream, Event, Future, EventPool, event_pool     run work and order it            eventide.runtime
Buffer, empty, work, host_access          memory, and what accesses it            eventide.runtime
Device, devices, Capabilities             where work runs                         eventide.runtime, eventide.backends
current_stream, default_stream, set_stream, synchronize                           eventide.runtime
hooks                                     callbacks at each act of the runtime    eventide.hooks
compiling, integrations                   callbacks when compilers run            eventide.compiling, .integrations
span, instant, counter, Recorder          record a program                        eventide.recording
Trace, open_trace                         what was recorded, as columns           eventide.trace
analysis, report                          results from a trace, and their text    eventide.analysis, eventide.report
jobs                                      the traces of many ranks                eventide.jobs
profile, current_profiler                 record a scope and summarize it         eventide.profiler
sanitize, sanitizer                       find races and other errors             eventide.sanitizer
testing                                   checks of devices, budgets              eventide.testing
EventideError and its subclasses          all exceptions                          eventide.errors

Units, in all packages: durations and timeouts that are passed in are seconds; a name that ends in ``_ns`` is a
timestamp or a duration in nanoseconds, timestamps on CLOCK_MONOTONIC; sizes are bytes. As in torch, ``elapsed_time``
returns milliseconds, and functions with the names of torch's profilers take and return microseconds.

PYTEST_DONT_REWRITE: `eventide run -m pytest` imports this package before pytest, which would warn of that otherwise.
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
    TraceFileError,
    TraceFileNotFoundError,
    TraceFilePermissionError,
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
    event_pool,
    host_access,
    set_stream,
    synchronize,
    work,
)
from eventide.trace import register_method

if TYPE_CHECKING:
    from eventide import analysis, backends, compiling, integrations, jobs, profiler, report, sanitizer, testing
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
    "TraceFileError",
    "TraceFileNotFoundError",
    "TraceFilePermissionError",
    "TraceFormatError",
    "UsageError",
    "UsageTypeError",
    "UsageValueError",
    "Work",
    "analysis",
    "backends",
    "compiling",
    "counter",
    "current_profiler",
    "current_stream",
    "default_stream",
    "devices",
    "empty",
    "errors",
    "event_pool",
    "hooks",
    "host_access",
    "instant",
    "integrations",
    "jobs",
    "open_trace",
    "profile",
    "profiler",
    "recording",
    "report",
    "runtime",
    "sanitize",
    "sanitizer",
    "set_stream",
    "span",
    "synchronize",
    "testing",
    "trace",
    "work",
]

# Lazily imported names and their packages; then the packages themselves.
_ON_USE = {
    "Capabilities": "backends",
    "DeviceBackend": "backends",
    "Future": "runtime",
    "Recorder": "recording",
    "Trace": "trace",
    "current_profiler": "profiler",
    "open_trace": "trace",
    "profile": "profiler",
    "sanitize": "sanitizer",
}
_PACKAGES = (
    "analysis",
    "backends",
    "compiling",
    "integrations",
    "jobs",
    "profiler",
    "report",
    "sanitizer",
    "testing",
)


def __getattr__(name: str) -> Any:
    """Import on first use: what these names need takes longer to import than the rest of the package."""
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"eventide.{name}")
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"eventide.{_ON_USE[name]}"), name)


def __dir__() -> list[str]:
    """The public names, those that are not imported yet included, and those of every module."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


# Methods of Trace, by package; eventide.trace._methods has their types and texts.
_METHODS = {
    "eventide.analysis": """
        summary operators breakdown idle syncs memory compiles step_phases samples critical_path what_if best_edits
        replay queue copies kernels launch_costs operator_costs step_costs scopes phase_times flops sequences graphs
        counter_ranges mark_critical_path lint compare
    """,
    "eventide.trace": "redacted",
    "eventide.report": "report",
}
for _package, _names in _METHODS.items():
    for _name in _names.split():
        register_method(_name, _package, _name)
del _package, _names, _name

if os.environ.get("EVENTIDE_SANITIZE", "0") not in {"", "0"}:
    from eventide.sanitizer import sanitize_process

    sanitize_process(os.environ["EVENTIDE_SANITIZE"])
