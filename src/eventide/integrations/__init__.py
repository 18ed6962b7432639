"""Adapters: other people's frameworks feed our hooks.

    torch, jax, numba, triton, pyopencl      one public module each: install(), uninstall(), installed()
    install_when_imported() -> Adapters      each is installed once the program imports its framework    _all.py

An adapter module imports its framework only once it is there, says in one line why it cannot work (missing, broken,
another version), never lets an error of ours into the framework, and leaves the framework as it was when uninstalled.
"""

from importlib import import_module
from typing import Any

from eventide.integrations._all import NAMES, Adapters, install_when_imported

__all__ = ["NAMES", "Adapters", "install_when_imported"]


def __getattr__(name: str) -> Any:
    """``eventide.integrations.torch`` without importing it first."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
