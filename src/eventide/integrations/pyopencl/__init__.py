"""The integration of pyopencl: queues, kernels, copies, buffers, builds and waits of any program that uses it.

install(profiling=True)   idempotent; imports pyopencl. `profiling` adds PROFILING_ENABLE to queues that the program
                          creates, so that its commands have times of the device; otherwise they have times of the host
uninstall()               restores pyopencl; queues that were created keep their flag

    _calls          wrappers of the calls                 _queues   queues and events
    _commands       the description of each command       _memory   buffers, and what kernels access
    _constructors   creation of queues and buffers        _times    when commands ran

Not traced: what commands on images and SVM access, what a driver compiles at a kernel's first launch, and what C code
does with queues of its own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from eventide.integrations._patch import Installation, guarded, switch
from eventide.recording import before_stop
from eventide.runtime.access import accesses_are_declared

__all__ = ["install", "installed", "uninstall"]

_installation = Installation("pyopencl")


def install(*, profiling: bool = True) -> None:
    """Trace pyopencl from now on."""
    _installation.install(partial(_apply, profiling), "pyopencl", "pyopencl._cl")


def uninstall() -> None:
    """Stop tracing and restore pyopencl."""
    _installation.uninstall()


def installed() -> bool:
    """True between install() and uninstall()."""
    return _installation.installed


def _apply(profiling: bool, cl: Any, native: Any) -> None:
    from eventide.integrations.pyopencl import _queues, _times

    _installation.on_uninstall(_queues.forget_events)
    _installation.on_uninstall(_times.forget)
    accesses_are_declared()
    _wrap_commands(cl, native)
    _wrap_waits(cl, native)
    _wrap_objects(cl, native, profiling)
    harvest = guarded(_times.harvest)
    _installation.on_uninstall(before_stop(harvest).close)
    _installation.on_uninstall(harvest)


def _wrap_commands(cl: Any, native: Any) -> None:
    from eventide.integrations.pyopencl._calls import enqueue
    from eventide.integrations.pyopencl._commands import COMMANDS

    for name, describe in COMMANDS.items():
        if name in vars(native):
            for module in (native, cl):
                if name in vars(module):
                    _installation.wrap(module, name, partial(enqueue, describe=describe))


def _wrap_waits(cl: Any, native: Any) -> None:
    from eventide.integrations.pyopencl import _calls as calls

    wrap = _installation.wrap
    for module in (native, cl):
        wrap(module, "wait_for_events", partial(calls.waiting, syncs=calls.of_events))
    wrap(native.CommandQueue, "finish", partial(calls.waiting, syncs=calls.of_queue, after=calls.finished))
    wrap(native.CommandQueue, "__exit__", calls.leaving)
    wrap(native.Event, "wait", partial(calls.waiting, syncs=calls.of_event))
    if "wait" in vars(native.NannyEvent):
        wrap(native.NannyEvent, "wait", partial(calls.waiting, syncs=calls.of_event))
    status = vars(native.Event).get("command_execution_status")
    if isinstance(status, property) and status.fget is not None:
        get, turn_off = switch(calls.status(status.fget), status.fget)
        _installation.replace(native.Event, "command_execution_status", property(get), turn_off)


def _wrap_objects(cl: Any, native: Any, profiling: bool) -> None:
    from eventide.integrations.pyopencl import _calls as calls
    from eventide.integrations.pyopencl import _constructors as constructors

    wrap = _installation.wrap
    wrap(native.Kernel, "__call__", partial(calls.kernel_call, first=3))
    wrap(native.Kernel, "set_args", partial(calls.kernel_call, first=0))
    wrap(native.Kernel, "set_arg", calls.kernel_set_arg)
    wrap(native.MemoryObject, "release", constructors.release)
    for name in ("get_sub_region", "__getitem__"):
        wrap(native.Buffer, name, constructors.sub_buffers)
    wrap(cl.Program, "build", calls.build)
    for kind, make in (("CommandQueue", constructors.queues(cl, profiling)), ("Buffer", constructors.buffers())):
        original = getattr(native, kind)
        constructor, turn_off = switch(partial(make, original), original)
        _installation.replace(cl, kind, constructors.StandIn(original, constructor), turn_off)
