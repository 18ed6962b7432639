"""The adapter of pyopencl: queues, kernels, copies, buffers, builds and waits of any program that uses it.

install(profiling=True)   idempotent; pyopencl must be importable. `profiling` adds PROFILING_ENABLE to queues that the
                          program makes, so that its commands have the device's times; else they have the host's
uninstall()               pyopencl is as it was; queues that were made keep their flag

    _calls    stands around the calls          _queues   queues and events
    _commands what each call is told as        _memory   buffers, and what kernels touch
    _times    when commands ran

Not heard: images and SVM (their commands are, not what they touch), what a driver compiles at a kernel's first launch,
and what C code does with queues of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from eventide.integrations._guard import guarded
from eventide.integrations._unheard import LACKS, unheard
from eventide.recording import before_stop

_lock = threading.Lock()  # guards _undo
_undo: list[Callable[[], None]] = []


def install(*, profiling: bool = True) -> None:
    """Hear pyopencl from now on."""
    with _lock:
        if _undo:
            return
        try:
            _patch(import_module("pyopencl"), import_module("pyopencl._cl"), profiling)
        except LACKS as error:
            _restore()
            raise unheard("pyopencl", error) from error


def uninstall() -> None:
    """Hear it no more; pyopencl is as it was."""
    with _lock:
        if _undo:
            from eventide.integrations.pyopencl import _queues, _times

            _times.harvest()
            _restore()
            _times.forget()
            _queues.forget_events()


def installed() -> bool:
    """True between install() and uninstall()."""
    return bool(_undo)


def _restore() -> None:
    while _undo:
        _undo.pop()()


def _put(owner: Any, name: str, value: Any) -> None:
    original = vars(owner)[name]
    setattr(owner, name, value)
    _undo.append(lambda: setattr(owner, name, original))


def _patch(cl: Any, native: Any, profiling: bool) -> None:
    from eventide.integrations.pyopencl import _calls as calls
    from eventide.integrations.pyopencl import _times as times
    from eventide.integrations.pyopencl._commands import COMMANDS
    from eventide.integrations.pyopencl._made import buffers, queues, release, sub_buffers

    for name, describe in COMMANDS.items():
        if name in vars(native):
            heard = calls.enqueue(getattr(native, name), describe)
            for module in (native, cl):
                if name in vars(module):
                    _put(module, name, heard)
    for module in (native, cl):
        _put(module, "wait_for_events", calls.waiting(vars(module)["wait_for_events"], calls.of_events))
    _put(native.CommandQueue, "finish", calls.waiting(native.CommandQueue.finish, calls.of_queue, calls.finished))
    _put(native.CommandQueue, "__exit__", calls.leaving(native.CommandQueue.__exit__))
    _put(native.Event, "wait", calls.waiting(native.Event.wait, calls.of_event))
    if "wait" in vars(native.NannyEvent):
        _put(native.NannyEvent, "wait", calls.waiting(native.NannyEvent.wait, calls.of_event))
    known = vars(native.Event).get("command_execution_status")
    if isinstance(known, property):
        _put(native.Event, "command_execution_status", calls.status(known))
    _put(native.Kernel, "__call__", calls.kernel_call(native.Kernel.__call__, 3))
    _put(native.Kernel, "set_args", calls.kernel_call(native.Kernel.set_args, 0))
    _put(native.Kernel, "set_arg", calls.kernel_set_arg(native.Kernel.set_arg))
    _put(native.MemoryObject, "release", release(native.MemoryObject.release))
    for name in ("get_sub_region", "__getitem__"):
        _put(native.Buffer, name, sub_buffers(vars(native.Buffer)[name]))
    _put(cl.Program, "build", calls.build(cl.Program.build))
    _put(cl, "CommandQueue", queues(cl, profiling))
    _put(cl, "Buffer", buffers(cl))
    harvest = guarded(times.harvest)
    _undo.append(before_stop(harvest).close)
