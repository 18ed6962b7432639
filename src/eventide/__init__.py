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
analysis                                  results from a trace                    eventide.analysis
profile, current_profiler                 record a scope and summarize it         eventide.profiler
sanitize, sanitizer                       find races and other errors             eventide.sanitizer
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
    from eventide import analysis, compiling, integrations, profiler, sanitizer
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
    "analysis": "analysis",
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
    """Import on first use: what these names need takes longer to import than the rest of the package."""
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    package = import_module(f"eventide.{_ON_USE[name]}")
    return package if _ON_USE[name] == name else getattr(package, name)


def __dir__() -> list[str]:
    """The public names, those that are not imported yet included, and those of every module."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


# Methods of Trace: name, module, function, documentation. eventide.trace._methods has the types.
for _method in (
    ("summary", "eventide.analysis", "summary", "Count and add up spans by name."),
    ("operators", "eventide.analysis", "operators", "Spans by name, with FLOPs and input shapes."),
    ("breakdown", "eventide.analysis", "breakdown", "Split the time of each device: what ran, and idle time."),
    ("idle", "eventide.analysis", "idle", "Explain the gaps of each device, or with by='stream' of each stream."),
    ("syncs", "eventide.analysis", "syncs", "Every call that blocked the host until a device was done."),
    ("memory", "eventide.analysis", "memory", "Memory over time: the peak, and which allocations held it."),
    ("compiles", "eventide.analysis", "compiles", "What was compiled, how often and for how long."),
    ("step_phases", "eventide.analysis", "step_phases", "Split steps into data, forward, backward, optimizer."),
    ("samples", "eventide.analysis", "samples", "Time by function, line, thread and import of sampled stacks."),
    ("critical_path", "eventide.analysis", "critical_path", "What the end of the trace or of a step waited for."),
    (
        "what_if",
        "eventide.analysis",
        "what_if",
        "The run with edits: a predicted time and its interval.",
    ),
    ("best_edits", "eventide.analysis", "best_edits", "The edits that save most, by search."),
    ("replay", "eventide.analysis", "replay", "The schedule that the dependency graph gives, beside the recorded one."),
    ("queue", "eventide.analysis", "queue", "Work launched and not ended, over time; full queues."),
    ("copies", "eventide.analysis", "copies", "Copies of memory by kind: bytes, time, bandwidth."),
    ("kernels", "eventide.analysis", "kernels", "Kernels by name; occupancy, SM efficiency, tensor cores."),
    ("launch_costs", "eventide.analysis", "launch_costs", "Launching calls beside the work that they launched."),
    ("operator_costs", "eventide.analysis", "operator_costs", "Operators: time on the host, and of the work launched."),
    ("step_costs", "eventide.analysis", "step_costs", "Each step split by what kept it."),
    (
        "scopes",
        "eventide.analysis",
        "scopes",
        "Time by annotation of the program and by nn.Module, on the host and on devices.",
    ),
    (
        "phase_times",
        "eventide.analysis",
        "phase_times",
        "Each step by data loading, forward, backward, optimizer and communication.",
    ),
    (
        "flops",
        "eventide.analysis",
        "flops",
        "FLOP/s and bytes of matrix operators by shape, against the device's peak.",
    ),
    ("sequences", "eventide.analysis", "sequences", "Sequences of kernels that repeat: what a fusion would help."),
    ("graphs", "eventide.analysis", "graphs", "Launches of CUDA and HIP graphs as units."),
    (
        "counter_ranges",
        "eventide.analysis",
        "counter_ranges",
        "Hardware counters of CUPTI ranges, by range and operator.",
    ),
    ("mark_critical_path", "eventide.analysis", "mark_critical_path", "The trace with its critical path as a track."),
    ("lint", "eventide.analysis", "lint", "Defects of the recording itself."),
    ("redacted", "eventide.trace", "redacted", "A copy without directories, arguments and command lines."),
    ("compare", "eventide.analysis", "compare", "What explains the difference to another trace."),
    ("report", "eventide.report", "report", "The text of `eventide report`; path= writes a .html, .txt or .json file."),
):
    register_method(*_method)
del _method

if os.environ.get("EVENTIDE_SANITIZE", "0") not in {"", "0"}:
    from eventide.sanitizer import _at_exit

    _at_exit.install(os.environ["EVENTIDE_SANITIZE"])
