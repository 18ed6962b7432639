"""`eventide run` and `eventide check`: a program in an interpreter of its own, recorded or checked from its first line.

_launch      starts the program, forwards signals, waits             in the process of the command
_settings    what to record, as it is passed to the program          in both
_bootstrap   the sitecustomize that runs before the program          in the program's process
_child       the recording                                           in the program's process
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventide.run._launch import Ended, end_like, launch
    from eventide.run._settings import Settings

__all__ = ["Ended", "Settings", "end_like", "launch"]

_ON_USE = {"Ended": "_launch", "Settings": "_settings", "end_like": "_launch", "launch": "_launch"}


def __getattr__(name: str) -> Any:
    """Imported on first use: the program's process does not need the launcher."""
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ON_USE[name]}"), name)
