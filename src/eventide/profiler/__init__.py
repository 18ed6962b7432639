"""The profiler: record a scope, and summarize what took the time.

    profile                                     the scope; options as in torch.profiler     _profile.py
    current_profiler, disable_profiler          the profile that was started last           _active.py
    ProfilerResult                              trace, table(), save(), report()            _result.py
    schedule, ProfilerAction                    which steps are recorded                    _schedule.py
    tensorboard_trace_handler                   a file for each recorded cycle              _handlers.py
    register_debug_handles                      modules of backends' events                 _handles.py
    KeyAverage, KeyAverages                     rows with torch's names                     _averages.py
    Event, Events                               spans with torch's names                    _events.py

A profile is made of cycles (_cycle.py), each a stretch of the one recording that all profiles share (also _cycle.py).
Besides the recorder it traces torch, compilers, one object's calls and the kernel's counters (_sources.py, _perf.py).
Backends written in C or C++ report through ``eventide/profiler.h``; _backends.py puts what they reported on the clock
of the trace. _options.py checks the options, _stacks.py writes stacks for flame graphs.
"""

from typing import TYPE_CHECKING

from eventide._util.public_names import lazy_names

if TYPE_CHECKING:
    from eventide.profiler._active import current_profiler, disable_profiler
    from eventide.profiler._averages import KeyAverage, KeyAverages
    from eventide.profiler._events import Event, Events
    from eventide.profiler._handlers import tensorboard_trace_handler
    from eventide.profiler._handles import register_debug_handles
    from eventide.profiler._profile import profile
    from eventide.profiler._result import ProfilerResult
    from eventide.profiler._schedule import ProfilerAction, schedule

__all__ = [
    "Event",
    "Events",
    "KeyAverage",
    "KeyAverages",
    "ProfilerAction",
    "ProfilerResult",
    "current_profiler",
    "disable_profiler",
    "profile",
    "register_debug_handles",
    "schedule",
    "tensorboard_trace_handler",
]

# A program under `eventide run` imports none of these unless it uses them.
_ON_USE = {
    "Event": "_events",
    "Events": "_events",
    "KeyAverage": "_averages",
    "KeyAverages": "_averages",
    "ProfilerAction": "_schedule",
    "ProfilerResult": "_result",
    "current_profiler": "_active",
    "disable_profiler": "_active",
    "profile": "_profile",
    "register_debug_handles": "_handles",
    "schedule": "_schedule",
    "tensorboard_trace_handler": "_handlers",
}

__getattr__, __dir__ = lazy_names(__name__, __all__, _ON_USE)
