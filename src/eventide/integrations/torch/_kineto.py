"""Kineto, torch's own profiler, through the functions that torch.profiler uses. Imports torch on use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from eventide import _native

_LEVEL = "KINETO_LOG_LEVEL"
_SILENT = "99"
_WARNING_FILES = (b"profiler_kineto.cpp", b"collection.cpp")  # sources of warnings about our own sessions
_MAIN_THREAD_TIMEOUT = 2.0  # seconds to wait for the main thread


@dataclass(frozen=True)
class Wanted:
    """What to collect. Without operators: device activity, and the calls that launched it."""

    operators: bool = True
    shapes: bool = False
    flops: bool = False
    memory: bool = False  # of the calling thread and of those that compute its gradients; torch cannot do more
    seconds: float = 0.0  # to collect; 0: no limit


class Kineto:
    """Starts and stops sessions."""

    def __init__(self, wanted: Wanted) -> None:
        import torch
        from torch import autograd

        self._torch: Any = autograd
        self.wanted = wanted
        supported = autograd._supported_activities()  # noqa: SLF001 - torch.profiler's own way
        self._activities = set(supported) - (set() if wanted.operators else {autograd.ProfilerActivity.CPU})
        if not self._activities:  # memory alone: torch needs an activity; this one has no events
            self._activities = {autograd.ProfilerActivity.CUDA}
        settings = torch._C._profiler._ExperimentalConfig(  # noqa: SLF001 - as above
            enable_cuda_sync_events=True, profile_all_threads=not wanted.memory, expose_kineto_event_metadata=True
        )
        state = autograd.ProfilerState.KINETO
        self._config = autograd.ProfilerConfig(
            state, wanted.shapes, wanted.memory, False, wanted.flops, False, settings, "eventide"
        )
        self._thread = 0

    def start(self) -> None:
        """Collect on all threads and devices; memory: on this thread."""
        with without_kineto_lines():
            self._torch._prepare_profiler(self._config, self._activities)  # noqa: SLF001 - as above
            self._torch._enable_profiler(self._config, self._activities)  # noqa: SLF001 - as above
        self._thread = threading.get_ident()

    def stop(self) -> Any:
        """End the session; returns its result."""
        if self.wanted.memory and self._thread != threading.get_ident():
            return _on_main_thread(self._stop)
        return self._stop()

    def _stop(self) -> Any:
        alone = self.wanted.memory and not self.wanted.operators  # then torch warns that there are no operators
        with without_profiler_warnings() if alone else nullcontext():
            return self._torch._disable_profiler()  # noqa: SLF001 - as above

    def pause_collection(self) -> bool:
        """Stop collecting and keep the buffer. stop() would hold the GIL for some microseconds an event.

        False: not possible for a session with memory.
        """
        if self.wanted.memory:
            return False
        with without_profiler_warnings():
            self._torch._toggle_collection_dynamic(False, self._activities)  # noqa: SLF001 - as above
        return True


def device_name(kind: str) -> str:
    """The name in our traces of torch's type of devices."""
    import torch

    if kind == "cuda" and torch.version.hip:
        return "hip"
    return torch._C._get_privateuse1_backend_name() if kind == "privateuseone" else kind  # noqa: SLF001 - as above


def has_devices() -> bool:
    """Does torch's profiler support any device besides the host?"""
    from torch import autograd

    return bool(set(autograd._supported_activities()) - {autograd.ProfilerActivity.CPU})  # noqa: SLF001 - as above


def _on_main_thread(act: Callable[[], Any]) -> Any:
    """Run act() on the main thread, which started the session: no other thread can end a session of one thread."""
    done = threading.Event()
    got: list[Any] = []

    def call() -> None:
        try:
            got.append(act())
        finally:
            done.set()

    _native.call_on_main_thread(call)
    if not done.wait(_MAIN_THREAD_TIMEOUT) or not got:
        seconds = f"{_MAIN_THREAD_TIMEOUT:g} s"
        raise TimeoutError(f"only the main thread can end the session, and it did not within {seconds}")
    return got[0]


@contextmanager
def without_kineto_lines() -> Iterator[None]:
    """Suppress the lines that Kineto prints for a session. It reads the variable once; a value of the user is kept."""
    before = os.environ.get(_LEVEL)
    if before is None:
        os.environ[_LEVEL] = _SILENT
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_LEVEL, None)


@contextmanager
def without_profiler_warnings() -> Iterator[None]:
    """Hold back stderr for the block, then write it without the warnings of torch's profiler."""
    try:
        real = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    kept = os.memfd_create("eventide-stderr")
    os.dup2(kept, 2)
    try:
        yield
    finally:
        os.dup2(real, 2)
        for line in os.pread(kept, 1 << 20, 0).splitlines(keepends=True):
            if not any(where in line for where in _WARNING_FILES):
                os.write(real, line)
        os.close(kept)
        os.close(real)
