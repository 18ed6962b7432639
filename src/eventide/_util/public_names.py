"""The public names of a package: they report the package as their module, and may be imported on first use (PEP 562).

publish(__name__, globals(), __all__)                                      # at the end of an __init__.py
__getattr__, __dir__ = lazy_names(__name__, __all__, {"Trace": "_trace"})  # "_trace" is a module of the package
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any


def publish(package: str, names: Mapping[str, Any], public: Collection[str]) -> None:
    """Make `package` the module of the public classes and functions that are in `names`, for help() and tracebacks.

    A name that reports a public module already, such as one of another package, keeps it.
    """
    for name in public:
        found = names.get(name)
        if isinstance(found, type | FunctionType | BuiltinFunctionType):
            module = found.__module__ or ""
            if module.startswith("eventide.") and "._" in module and not _is_fixed(found):
                found.__module__ = package


def _is_fixed(found: object) -> bool:
    """True for a class in C whose attributes cannot be set."""
    return isinstance(found, type) and bool(found.__flags__ & 1 << 8)  # Py_TPFLAGS_IMMUTABLETYPE


def lazy_names(
    package: str, public: Collection[str], modules: Mapping[str, str], front_door: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `package`, whose names are in these modules of it.

    Names in `front_door` report ``eventide`` as their module.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{modules[name]}"), name)
        publish("eventide" if name in front_door else package, {name: found}, (name,))
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        """The public names, those that are not imported yet included, and those of every module."""
        return sorted({*(name for name in vars(sys.modules[package]) if name.startswith("__")), *public})

    return find, names
