"""`eventide run` and `eventide check`: a program in an interpreter of its own, recorded or checked from its first line.

_launch      starts the program, waits for it, forwards signals      in the process of the command
_site        the sitecustomize that is loaded before the program     in the program's process
_autostart   the recording that it starts there                      in the program's process
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventide.run._launch import Ended, Settings, die_like, launch, watched_environment

__all__ = ["Ended", "Settings", "die_like", "launch", "watched_environment"]


def __getattr__(name: str) -> Any:
    """Imported on first use: the program's process has no use for the launcher."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from eventide.run import _launch

    return getattr(_launch, name)
