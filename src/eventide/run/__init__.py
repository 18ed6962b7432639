"""`eventide run` and `eventide check`: a program in an interpreter of its own, recorded or checked from its first line.

_target      where the recording goes                                in the process of the command
_program     what is a script, and what another program (_exec)      in the same
_launch      starts the program, forwards signals, waits             in the same
_group       which signals the whole process group received          in the same
_results     the files of the run, and its summary                   in the same
_settings    what to record, as it is passed to the program          in both
_processes   the recordings of child processes                      in the same
_environment, _children   child processes are recorded too          in the program's process
_bootstrap   the sitecustomize that runs before the program          in the program's process
_child       the recording; tasks of asyncio as spans (_tasks)       in the program's process
_attach      records a process that already runs                     in the process of the command
_attached    that recording                                          in that process
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventide.run._attach import Attached, attach
    from eventide.run._launch import Ended, end_like, launch
    from eventide.run._processes import clear, folder_for, opened_with, recordings_of, summarized
    from eventide.run._program import command_of, is_python, refuse_options
    from eventide.run._results import Result, collect
    from eventide.run._settings import Settings
    from eventide.run._target import DiskFullError, recording_path, reserve

__all__ = [
    "Attached",
    "DiskFullError",
    "Ended",
    "Result",
    "Settings",
    "attach",
    "clear",
    "collect",
    "command_of",
    "end_like",
    "folder_for",
    "is_python",
    "launch",
    "opened_with",
    "recording_path",
    "recordings_of",
    "refuse_options",
    "reserve",
    "summarized",
]

_ON_USE = {
    "Attached": "_attach",
    "attach": "_attach",
    "DiskFullError": "_target",
    "Ended": "_launch",
    "clear": "_processes",
    "command_of": "_program",
    "is_python": "_program",
    "refuse_options": "_program",
    "folder_for": "_processes",
    "opened_with": "_processes",
    "recordings_of": "_processes",
    "summarized": "_processes",
    "Result": "_results",
    "Settings": "_settings",
    "collect": "_results",
    "end_like": "_launch",
    "launch": "_launch",
    "recording_path": "_target",
    "reserve": "_target",
}


def __getattr__(name: str) -> Any:
    """Imported on first use: the program's process does not need the launcher."""
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ON_USE[name]}"), name)
