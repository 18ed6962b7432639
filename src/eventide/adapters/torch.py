"""The adapter of torch: what torch.compile does is heard by ``eventide.compiling``.

install()      idempotent; works before torch is imported and survives torch._dynamo.reset()
uninstall()    torch is as it was
"""

from eventide.adapters._torch_compile import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
