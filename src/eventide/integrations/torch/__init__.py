"""The integration of torch: torch.compile feeds ``eventide.compiling``, and spans are visible in torch's profilers.

install()            idempotent; works before torch is imported and survives torch._dynamo.reset()
uninstall()          restores torch
mirror_gpu_trace()   torch's own hooks of CUDA and XPU streams, events and memory feed ours

    _compile, _compile_metrics   torch.compile             _session            operators and devices of a recording
    _operators                   torch's callbacks         _kineto             torch's own profiler
    _dispatch, _inputs, _memory  operators in detail       _kineto_events      its events -> spans
    _modules                     forwards of modules       _profilers          profilers of the program
    _collectives                 ranks and collectives of torch.distributed
    _steps                       steps of optimizers       _gpu_hooks          mirror_gpu_trace
    _run, _profile               all of it, for `eventide run` and for `et.profile`
    accesses                     what operators access in work on our streams, while a sanitizer is active
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from eventide._util.public_names import lazy_names, publish
from eventide.integrations._patch import Installation, cannot_trace
from eventide.integrations.torch import _compile, _profilers
from eventide.integrations.torch._gpu_hooks import mirror_gpu_trace

if TYPE_CHECKING:
    from eventide.integrations.torch._profile import TorchWatch
    from eventide.integrations.torch._run import CHOICES, TorchRun
    from eventide.integrations.torch._steps import TorchSteps

__all__ = ["CHOICES", "TorchRun", "TorchSteps", "TorchWatch", "install", "installed", "mirror_gpu_trace", "uninstall"]

# For the profiler and `eventide run`, not for programs. Most of these import torch: imported on first use.
_ON_USE = {"CHOICES": "_run", "TorchRun": "_run", "TorchSteps": "_steps", "TorchWatch": "_profile"}

_installation = Installation("torch")


def install() -> None:
    """Trace torch from now on. It need not be imported yet, and is not imported by this."""
    if importlib.util.find_spec("torch") is None:
        raise cannot_trace("torch", ModuleNotFoundError(name="torch"))
    if "torch" in sys.modules and importlib.util.find_spec("torch._dynamo") is None:
        raise cannot_trace("torch", ModuleNotFoundError("No module named 'torch._dynamo'"))
    _installation.install(_apply)


def uninstall() -> None:
    """Stop tracing and restore torch."""
    _installation.uninstall()


def installed() -> bool:
    """True between install() and uninstall()."""
    return _installation.installed


def _apply() -> None:
    _compile.install(_installation)
    _installation.on_uninstall(_profilers.uninstall)
    _installation.when_imported("torch", _profilers.install)


publish(__name__, globals(), __all__)
__getattr__, __dir__ = lazy_names(__name__, __all__, _ON_USE)
