"""The adapter of torch: what torch.compile does is heard by ``eventide.compiling``.

install()            idempotent; works before torch is imported and survives torch._dynamo.reset()
uninstall()          torch is as it was
mirror_gpu_trace()   torch's own hooks of CUDA and XPU streams, events and memory feed ours

While a sanitizer is on, what torch's operators touch inside of work on Eventide streams is told to it, installed or
not (_torch_accesses). Operators, modules, memory and FLOPs are ``eventide.profiler``'s.
"""

import importlib.util
import sys

from eventide.adapters import _torch_compile
from eventide.adapters._torch_compile import installed, uninstall
from eventide.adapters._torch_mirror import mirror_gpu_trace
from eventide.adapters._unheard import unheard

__all__ = ["install", "installed", "mirror_gpu_trace", "uninstall"]


def install() -> None:
    """Hear torch.compile from now on. torch need not be imported yet, and is not imported by this."""
    if "torch" in sys.modules and importlib.util.find_spec("torch._dynamo") is None:
        raise unheard("torch", ModuleNotFoundError("No module named 'torch._dynamo'"))
    _torch_compile.install()
