"""torch's own hooks of CUDA and XPU streams, events and memory feed ours."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

from eventide import hooks
from eventide.errors import UsageError
from eventide.integrations._patch import guarded

# The registries of torch.cuda._gpu_trace and torch.xpu._gpu_trace, and the hook of Eventide with the same arguments.
REGISTRIES = {
    "EventCreationCallbacks": hooks.EventCreationCallbacks,
    "EventDeletionCallbacks": hooks.EventDeletionCallbacks,
    "EventRecordCallbacks": hooks.EventRecordCallbacks,
    "EventWaitCallbacks": hooks.EventWaitCallbacks,
    "MemoryAllocationCallbacks": hooks.MemoryAllocationCallbacks,
    "MemoryDeallocationCallbacks": hooks.MemoryDeallocationCallbacks,
    "StreamCreationCallbacks": hooks.StreamCreationCallbacks,
    "DeviceSynchronizationCallbacks": hooks.DeviceSynchronizationCallbacks,
    "StreamSynchronizationCallbacks": hooks.StreamSynchronizationCallbacks,
    "EventSynchronizationCallbacks": hooks.EventSynchronizationCallbacks,
}
_lock = threading.Lock()  # guards _on and _mirrored
_mirrored: set[str] = set()
_on = [True]


def mirror_gpu_trace(*backends: str) -> Callable[[], None]:
    """Let torch's GPU hooks feed ours ("cuda" and "xpu" unless named); returns a function that ends it.

    torch's registries cannot remove a callback: after the end ours stay there and do nothing. torch calls them after
    ``torch._C._activate_gpu_trace()`` was called, which this does if torch has it.
    """
    wanted = backends or ("cuda", "xpu")
    try:
        modules = {name: importlib.import_module(f"torch.{name}._gpu_trace") for name in wanted}
    except ImportError as error:
        raise UsageError(f"torch has no GPU hooks to mirror: {error}; pip install torch") from error
    with _lock:
        _on[0] = True
        for name, module in modules.items():
            if name not in _mirrored:
                _mirrored.add(name)
                _register(module)
    import torch

    activate = getattr(torch._C, "_activate_gpu_trace", None)  # noqa: SLF001 - torch's own switch
    if activate is not None:
        activate()
    return _end


def _end() -> None:
    _on[0] = False


def _register(module: Any) -> None:
    for name, ours in REGISTRIES.items():
        theirs = next(
            (getattr(module, one) for one in (name, f"CUDA{name}", f"XPU{name}") if hasattr(module, one)), None
        )
        if theirs is not None:
            theirs.add_callback(_forward(ours))


def _forward(ours: Any) -> Callable[..., None]:
    @guarded
    def forward(*arguments: Any) -> None:
        if _on[0]:
            ours.fire_callbacks(*arguments)

    return forward
