"""What counts: Semaphores, and the free places of a bounded queue.

The n-th acquisition comes after as many releases as it takes beside the permits of the beginning. So it receives the
first of them, and not whatever was released by then: that depends on timing.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util import process

_lock = threading.Lock()  # guards all Permits; made before anything is patched
_KEPT = 256
_round = 0  # counts the times that nothing was traced any more


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - a thread of the parent may hold it
    _lock = threading.Lock()


process.after_fork(_after_fork)


class Permits:
    """The signals of one semaphore or queue."""

    def __init__(self, free: int) -> None:
        self.round = _round
        self._taken = -max(free, 0)  # acquisitions so far; those of the first permits need no release
        self._tokens: list[int] = []  # of releases: the first has the number _first
        self._first = 0
        self._coming: list[int] = []  # of get() calls that may have made room and have not returned
        self._seen: weakref.WeakKeyDictionary[threading.Thread, int] = weakref.WeakKeyDictionary()

    def release(self, count: int = 1) -> None:
        """This thread is about to release."""
        token = _native.host_signal()
        with _lock:
            self._tokens.extend([token] * count)

    def take_back(self, count: int = 1) -> None:
        """The release has failed."""
        with _lock:
            del self._tokens[-count:]

    def begin_release(self) -> int:
        """This thread may release in a call that can block; end_release with the result follows."""
        token = int(_native.host_signal())
        with _lock:
            self._coming.append(token)
        return token

    def end_release(self, token: int, released: bool) -> None:
        """The call has returned."""
        with _lock:
            self._coming.remove(token)
            if released:
                self._tokens.append(token)

    def acquired(self) -> None:
        """This thread has acquired."""
        thread = threading.current_thread()
        with _lock:
            self._taken += 1
            known = self._first + len(self._tokens)
            start = max(self._seen.get(thread, 0), self._first)
            received = self._tokens[start - self._first : max(self._taken - self._first, 0)]
            if self._taken > known:
                received = received + self._coming
            if self._taken > 0:
                self._seen[thread] = min(self._taken, known)
            if (drop := min(self._taken, known) - self._first - _KEPT) > _KEPT:
                del self._tokens[:drop]
                self._first += drop
        for token in dict.fromkeys(received):
            _native.host_wait(token)


def permits_of(thing: Any, free: Callable[[], int]) -> Permits:
    """Those of a semaphore or queue; free: how many permits it has when they are first asked for."""
    permits: Permits | None = thing.__dict__.get("_eventide_permits")
    if permits is None or permits.round != _round:
        fresh = Permits(free())
        with _lock:
            permits = thing.__dict__.get("_eventide_permits")
            if permits is None or permits.round != _round:
                permits = thing.__dict__["_eventide_permits"] = fresh
    return permits


def forget_permits() -> None:
    """Nothing is traced from now on, so what was counted is no longer true."""
    global _round  # noqa: PLW0603 - one for the process
    _round += 1


def _inside_an_executor() -> bool:
    """True if a ThreadPoolExecutor counts its idle threads: that orders nothing of the program."""
    caller = sys._getframe(1).f_back  # noqa: SLF001 - as in _locks
    return caller is not None and caller.f_globals.get("__name__") == "concurrent.futures.thread"


def make_release(original: Callable[..., None]) -> Callable[..., None]:
    """Replaces ``Semaphore.release``."""

    def release(self: Any, n: int = 1) -> None:
        if _inside_an_executor() or not isinstance(n, int) or n < 1:
            return original(self, n)
        permits = permits_of(self, lambda: self._value)
        permits.release(n)
        try:
            return original(self, n)
        except BaseException:
            permits.take_back(n)
            raise

    return release


def make_acquire(original: Callable[..., bool]) -> Callable[..., bool]:
    """Replaces ``Semaphore.acquire``."""

    def acquire(self: Any, *args: Any, **kwargs: Any) -> bool:
        if _inside_an_executor():
            return original(self, *args, **kwargs)
        permits = permits_of(self, lambda: self._value)
        taken = original(self, *args, **kwargs)
        if taken:
            permits.acquired()
        return taken

    return acquire
