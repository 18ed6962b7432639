"""Hand-over and lifetimes for recordings: traced while something records, from the first declared access on.

A recording of a program without accesses cannot be checked, so such a program runs with unchanged locks and queues.
"""

from __future__ import annotations

import threading

from eventide._util import process

_lock = threading.RLock()  # guards the others
_recordings = 0
_declared = False
_on = False


def accesses_are_declared() -> None:
    """The program has declared accesses, made a Buffer, or uses a framework whose accesses are traced."""
    global _declared  # noqa: PLW0603 - one switch for the process
    if not _declared:
        with _lock:
            _declared = True
            _update()


def recording_started() -> None:
    """Trace what a check of the recording needs, until as many ``recording_stopped()``."""
    _count(1)


def recording_stopped() -> None:
    """One recording fewer."""
    _count(-1)


def _count(change: int) -> None:
    global _recordings  # noqa: PLW0603 - one switch for the process
    with _lock:
        _recordings += change
        _update()


def _update() -> None:
    global _on  # noqa: PLW0603 - one switch for the process
    wanted = _declared and _recordings > 0
    if wanted == _on:
        return
    from eventide.runtime.access import handover, lifetimes  # imports executors, which takes time

    _on = wanted
    for one in (handover, lifetimes):
        (one.start if wanted else one.stop)()


def _after_fork() -> None:
    """The child records nothing; a thread of the parent may have held the lock. What is patched does no harm."""
    global _lock, _recordings  # noqa: PLW0603 - one switch for the process
    _lock = threading.RLock()
    _recordings = 0


process.after_fork(_after_fork)
