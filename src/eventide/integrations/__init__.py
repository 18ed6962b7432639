"""Integrations: other frameworks feed our hooks.

    torch, jax, numba, triton, pyopencl      one public module each: install(), uninstall(), installed()
    install_when_imported() -> Adapters      installs each when the program imports its framework     _all.py
    _patch.py                                how an integration puts code into a framework, and takes it out

An integration imports its framework only when it is installed. It reports in one line why it cannot work (missing,
broken, another version), never raises an error of Eventide into the framework, and restores the framework when it is
uninstalled.
"""

from importlib import import_module
from typing import Any

from eventide._util.public_names import publish
from eventide.integrations._all import NAMES, Adapters, install_when_imported

__all__ = ["NAMES", "Adapters", "install_when_imported"]


def __getattr__(name: str) -> Any:
    """``eventide.integrations.torch`` without importing it first."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """The public names and the integrations, those that are not imported yet included."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *NAMES})


publish(__name__, globals(), __all__)
