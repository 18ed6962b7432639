"""The adapter of torch: what torch.compile does is heard by ``eventide.compiling``.

install()            idempotent; works before torch is imported and survives torch._dynamo.reset()
uninstall()          torch is as it was
mirror_gpu_trace()   torch's own hooks of CUDA and XPU streams, events and memory feed ours

While a sanitizer is on, what torch's operators touch inside of work on Eventide streams is told to it, installed or
not (_torch_accesses). Operators, modules, memory and FLOPs are ``eventide.profiler``'s.
"""

from eventide.adapters._torch_compile import install, installed, uninstall
from eventide.adapters._torch_mirror import mirror_gpu_trace

__all__ = ["install", "installed", "mirror_gpu_trace", "uninstall"]
