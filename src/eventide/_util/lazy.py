"""Names of a package that are imported on first use (PEP 562).

__getattr__ = lazy_names(__name__, {"Trace": "_trace"})        # in __init__.py; "_trace" is a module of the package
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str], public: str = "", *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of `package`: name -> module of it. The given `names` report `public` as their module."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{modules[name]}"), name)
        if name in names:
            found.__module__ = public
        setattr(sys.modules[package], name, found)
        return found

    return find
