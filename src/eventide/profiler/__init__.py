"""The profiler: record a scope, and ask what took the time.

    profile                                     the scope; options as in torch.profiler     _profile.py
    current_profiler, disable_profiler          the profile that was started last           _active.py
    ProfilerResult                              trace, table(), save(), report()            _result.py
    schedule, ProfilerAction                    which steps are recorded                    _schedule.py

A profile is made of cycles (_cycle.py), each a stretch of the one recording that all profiles share (_recording.py).
Besides the recorder it listens to torch, compilers, one object's calls and the kernel's counters (_sources.py).
Backends written in C or C++ report through ``eventide/profiler.h``.
"""

from eventide.profiler._active import current_profiler, disable_profiler
from eventide.profiler._profile import profile
from eventide.profiler._result import ProfilerResult
from eventide.profiler._schedule import ProfilerAction, schedule

__all__ = ["ProfilerAction", "ProfilerResult", "current_profiler", "disable_profiler", "profile", "schedule"]

for _name in __all__:
    globals()[_name].__module__ = "eventide.profiler"
