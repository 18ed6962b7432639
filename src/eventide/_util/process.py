"""The life cycle of the process: one registry for forked children and for exit.

    after_fork(callback)               runs in the child of each fork, in the order of registration
    at_exit(callback)                  runs at exit; the latest registration first
    at_exit(callback, last=True)       runs at exit after all of the former, such as the draining of streams
    cancel_at_exit(callback)           undoes either

A callback that raises is printed; the others still run.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

Callback = Callable[[], object]

_after_fork: list[Callback] = []
_last: list[Callback] = []


def after_fork(callback: Callback) -> None:
    """Run callback() in the child of each fork. It replaces locks and drops what belongs to other threads."""
    _after_fork.append(callback)


def at_exit(callback: Callback, *, last: bool = False) -> None:
    """Run callback() once at exit. Registering it again moves it: it becomes the latest."""
    cancel_at_exit(callback)
    if last:
        _last.append(callback)
    else:
        atexit.register(callback)


def cancel_at_exit(callback: Callback) -> None:
    """Do not run it; nothing happens if it is not registered."""
    if callback in _last:
        _last.remove(callback)
    atexit.unregister(callback)


def _run_after_fork() -> None:
    for callback in tuple(_after_fork):
        _guarded(callback)


def _run_last() -> None:
    while _last:
        _guarded(_last.pop())


def _guarded(callback: Callback) -> None:
    try:
        callback()
    except Exception:  # noqa: BLE001 - the other callbacks must run
        sys.excepthook(*sys.exc_info())


os.register_at_fork(after_in_child=_run_after_fork)
atexit.register(_run_last)  # the first registration of the package: atexit runs it after all later ones
