"""The adapter of torch: what torch.compile does is heard by ``eventide.compiling``, and spans show in torch's traces.

install()            idempotent; works before torch is imported and survives torch._dynamo.reset()
uninstall()          torch is as it was
mirror_gpu_trace()   torch's own hooks of CUDA and XPU streams, events and memory feed ours

While a profiler of the program's own runs, our spans are told to it too (_profilers). Operators and device
activity come from a session of ours at torch's profiler (_session), which ``eventide run`` opens; modules, memory
and FLOPs are ``eventide.profiler``'s. While a sanitizer is on, what torch's operators touch inside of work on Eventide
streams is told to it, installed or not (accesses).
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from eventide._util.on_import import ImportHook, when_imported
from eventide.integrations._unheard import unheard
from eventide.integrations.torch import _compile, _profilers
from eventide.integrations.torch._mirror import mirror_gpu_trace

if TYPE_CHECKING:
    from eventide.integrations.torch._run import CHOICES, TorchRun
    from eventide.integrations.torch._steps import TorchSteps
    from eventide.integrations.torch._watch import TorchWatch

__all__ = ["CHOICES", "TorchRun", "TorchSteps", "TorchWatch", "install", "installed", "mirror_gpu_trace", "uninstall"]

# For the profiler and `eventide run`, not for programs. Most of these import torch: imported on first use.
_ON_USE = {"CHOICES": "_run", "TorchRun": "_run", "TorchSteps": "_steps", "TorchWatch": "_watch"}

installed = _compile.installed


class _State:
    waiting: ImportHook | None = None  # for torch to be imported; kept when it was


def install() -> None:
    """Hear torch from now on. It need not be imported yet, and is not imported by this."""
    if "torch" in sys.modules and importlib.util.find_spec("torch._dynamo") is None:
        raise unheard("torch", ModuleNotFoundError("No module named 'torch._dynamo'"))
    if not installed():
        _compile.install()
        _State.waiting = when_imported("torch", _profilers.install)


def uninstall() -> None:
    """Hear it no more; torch is as it was."""
    hook, _State.waiting = _State.waiting, None
    if hook is not None:
        hook.close()
    _profilers.uninstall()
    _compile.uninstall()


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ON_USE[name]}"), name)
