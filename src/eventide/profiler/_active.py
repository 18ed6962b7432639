"""The profiles that run in this process, innermost last, and what they request of backends."""

from __future__ import annotations

import importlib
import logging
import threading
from typing import TYPE_CHECKING

from eventide import _native
from eventide._util import process
from eventide.profiler._cycle import recording

if TYPE_CHECKING:
    from eventide.profiler._profile import profile
    from eventide.profiler._result import ProfilerResult

EVENTS, MEMORY, FOREIGN = 1, 2, 4  # bits of a request to backends; FOREIGN: their times are on other clocks

_log = logging.getLogger("eventide.profiler")
_lock = threading.Lock()  # guards _running and the request
_running: list[profile] = []


def current_profiler() -> profile | None:
    """The profile that was started last and still runs, on whatever thread; None: no profile runs."""
    return _running[-1] if _running else None


def disable_profiler() -> ProfilerResult | None:
    """Stop the profile that was started last, and give its result; None: no profile runs."""
    running = current_profiler()
    return running.stop() if running is not None else None


def begin(profiler: profile) -> None:
    """Add a profile that starts."""
    with _lock:
        _running.append(profiler)
    ask_backends()
    _native.profiler_connect()


def end(profiler: profile) -> None:
    """Remove a profile that stopped."""
    with _lock:
        if profiler in _running:
            _running.remove(profiler)
    ask_backends()


def ask_backends() -> None:
    """Request of the backends what the running profiles record."""
    with _lock:
        what = 0
        for profiler in _running:
            if profiler.recording:
                what |= EVENTS
                what |= MEMORY if profiler.options.profile_memory else 0
                what |= FOREIGN if profiler.options.adjust_timestamps else 0
        _native.profiler_request(what)
    if what:  # the recorder stops at exit too, and what registered last runs first
        importlib.import_module("concurrent.futures.thread")  # pandas, which pyarrow looks for, cannot load it at exit
        process.at_exit(_stop_all)


def _stop_all() -> None:
    """The program ends: the files of running profiles are written."""
    while _running:
        try:
            _running[-1].stop()
        except Exception:  # noqa: BLE001  (the others are to be stopped too)
            _log.exception("a profile could not be saved at exit")


def _in_child() -> None:
    """After fork the child profiles nothing: the recording is its parent's."""
    global _lock  # noqa: PLW0603  (the old one may be held by a thread that is gone)
    _lock = threading.Lock()
    for profiler in _running:
        profiler._abandon()  # noqa: SLF001 - the other half of a profile
    _running.clear()
    recording.forget()
    _native.profiler_request(0)


process.after_fork(_in_child)
