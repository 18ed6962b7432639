"""Kineto, torch's own profiler, through the functions that torch.profiler uses. Imports torch on use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eventide.adapters._torch_quiet import without_kineto_s_lines, without_torch_s_warning


@dataclass(frozen=True)
class Wanted:
    """What to hear. Without operators: what devices do, and the calls that made them do it."""

    operators: bool = True
    shapes: bool = False
    flops: bool = False
    seconds: float = 0.0  # of hearing; 0: no limit


class Kineto:
    """The functions of torch that begin and end a session."""

    def __init__(self, wanted: Wanted) -> None:
        import torch
        from torch import autograd

        self._torch: Any = autograd
        self._hip = bool(torch.version.hip)
        supported = autograd._supported_activities()  # noqa: SLF001 - torch.profiler's own way
        self._activities = set(supported) - (set() if wanted.operators else {autograd.ProfilerActivity.CPU})
        settings = torch._C._profiler._ExperimentalConfig(  # noqa: SLF001 - as above
            enable_cuda_sync_events=True, profile_all_threads=True, expose_kineto_event_metadata=True
        )
        state = autograd.ProfilerState.KINETO
        self._config = autograd.ProfilerConfig(
            state, wanted.shapes, False, False, wanted.flops, False, settings, "eventide"
        )

    def start(self) -> None:
        """Begin to hear all threads and devices."""
        with without_kineto_s_lines():
            self._torch._prepare_profiler(self._config, self._activities)  # noqa: SLF001 - as above
            self._torch._enable_profiler(self._config, self._activities)  # noqa: SLF001 - as above

    def stop(self) -> Any:
        """End; what was heard."""
        return self._torch._disable_profiler()  # noqa: SLF001 - as above

    def hush(self) -> None:
        """Hear no more, and keep what was heard: at no cost, where stop() holds the GIL for microseconds an event."""
        with without_torch_s_warning():
            self._torch._toggle_collection_dynamic(False, self._activities)  # noqa: SLF001 - as above

    def device(self, kind: str) -> str:
        """What torch calls a type of devices, as our traces do."""
        import torch

        if kind == "cuda" and self._hip:
            return "hip"
        return torch._C._get_privateuse1_backend_name() if kind == "privateuseone" else kind  # noqa: SLF001 - as above


def hears_devices() -> bool:
    """Has torch's profiler any device to hear, besides the host?"""
    from torch import autograd

    return bool(set(autograd._supported_activities()) - {autograd.ProfilerActivity.CPU})  # noqa: SLF001 - as above
