"""Kineto, torch's own profiler, through the functions that torch.profiler uses. Imports torch on use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from eventide import _native
from eventide.integrations.torch._quiet import without_kineto_s_lines, without_torch_s_warnings

_PATIENCE = 2.0  # seconds, for the main thread to do what only it can


@dataclass(frozen=True)
class Wanted:
    """What to hear. Without operators: what devices do, and the calls that made them do it."""

    operators: bool = True
    shapes: bool = False
    flops: bool = False
    memory: bool = False  # of the thread that asks, and of those that compute its gradients: torch knows no other way
    seconds: float = 0.0  # of hearing; 0: no limit


class Kineto:
    """The functions of torch that begin and end a session."""

    def __init__(self, wanted: Wanted) -> None:
        import torch
        from torch import autograd

        self._torch: Any = autograd
        self.wanted = wanted
        supported = autograd._supported_activities()  # noqa: SLF001 - torch.profiler's own way
        self._activities = set(supported) - (set() if wanted.operators else {autograd.ProfilerActivity.CPU})
        if not self._activities:  # memory alone: torch wants something, and there is none of this
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
        """Begin to hear all threads and devices; memory: what this thread does."""
        with without_kineto_s_lines():
            self._torch._prepare_profiler(self._config, self._activities)  # noqa: SLF001 - as above
            self._torch._enable_profiler(self._config, self._activities)  # noqa: SLF001 - as above
        self._thread = threading.get_ident()

    def stop(self) -> Any:
        """End; what was heard."""
        if self.wanted.memory and self._thread != threading.get_ident():
            return _on_main_thread(self._stop)
        return self._stop()

    def _stop(self) -> Any:
        alone = self.wanted.memory and not self.wanted.operators  # then torch misses the operators, and says so
        with without_torch_s_warnings() if alone else nullcontext():
            return self._torch._disable_profiler()  # noqa: SLF001 - as above

    def hush(self) -> bool:
        """Hear no more, and keep what was heard: at no cost, where stop() holds the GIL for microseconds an event.

        False: that cannot be had.
        """
        if self.wanted.memory:
            return False
        with without_torch_s_warnings():
            self._torch._toggle_collection_dynamic(False, self._activities)  # noqa: SLF001 - as above
        return True


def device_name(kind: str) -> str:
    """What torch calls a type of devices, as our traces do."""
    import torch

    if kind == "cuda" and torch.version.hip:
        return "hip"
    return torch._C._get_privateuse1_backend_name() if kind == "privateuseone" else kind  # noqa: SLF001 - as above


def hears_devices() -> bool:
    """Has torch's profiler any device to hear, besides the host?"""
    from torch import autograd

    return bool(set(autograd._supported_activities()) - {autograd.ProfilerActivity.CPU})  # noqa: SLF001 - as above


def _on_main_thread(act: Callable[[], Any]) -> Any:
    """A session of one thread can be ended by no other, and the main thread is where it began."""
    done = threading.Event()
    got: list[Any] = []

    def call() -> None:
        try:
            got.append(act())
        finally:
            done.set()

    _native.call_on_main_thread(call)
    if not done.wait(_PATIENCE) or not got:
        raise TimeoutError("the main thread, which alone can end it, did not answer")
    return got[0]
