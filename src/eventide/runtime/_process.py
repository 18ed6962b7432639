"""Exit and fork: workers are stopped at exit, and a forked child starts without streams."""

import os
import sys
from _thread import get_ident

from eventide import _native
from eventide._util import process

EXIT_SECONDS = 2.0
"""How long queued work may still run at exit; EVENTIDE_EXIT_TIMEOUT overrides it."""


def _exit_seconds() -> float:
    given = os.environ.get("EVENTIDE_EXIT_TIMEOUT", "")
    try:
        return max(0.0, float(given)) if given else EXIT_SECONDS
    except ValueError:
        sys.stderr.write(
            f"eventide: EVENTIDE_EXIT_TIMEOUT={given!r} is not a number of seconds; using {EXIT_SECONDS}\n"
        )
        return EXIT_SECONDS


def _at_exit() -> None:
    seconds = _exit_seconds()
    left = _native.shut_down(seconds)
    if left:
        items = "1 work item was" if left == 1 else f"{left} work items were"
        sys.stderr.write(f"eventide: {items} abandoned at exit, {seconds:g} s after the end (EVENTIDE_EXIT_TIMEOUT)\n")


def install() -> None:
    """Register both; called once, at import."""
    process.at_exit(_at_exit)
    process.after_fork(_native.after_fork_in_child)
    threading = sys.modules.get("threading")  # if it is not imported, this is the main thread
    _native.note_main_thread(threading.main_thread().ident if threading else get_ident())
