"""The end of the process, and its copies: workers are stopped at exit, a forked child starts clean."""

import os
import sys
from _thread import get_ident

from eventide import _native
from eventide._util import process

EXIT_SECONDS = 2.0
"""How long queued work may still run at exit, unless EVENTIDE_EXIT_TIMEOUT says otherwise."""


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
    """Register both; called once, when eventide is imported."""
    process.at_exit(_at_exit)
    process.after_fork(_native.after_fork_in_child)
    threading = sys.modules.get("threading")  # whoever made threads has imported it; else this is the main one
    _native.note_main_thread(threading.main_thread().ident if threading else get_ident())
