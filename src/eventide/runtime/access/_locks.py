"""Locks that signal on release and receive on acquire. They wrap the original locks, with a token each."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from eventide import _native

_tokens: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_making = threading.Lock()  # guards _tokens; made before anything is patched


def token_of(thing: Any) -> int:
    """The token of a lock, an Event, a thread, ...: one for its life."""
    token = thing.__dict__.get("_eventide_token") if hasattr(thing, "__dict__") else None
    if token is None:
        token = _native.new_token()
        try:
            token = thing.__dict__.setdefault("_eventide_token", token)
        except AttributeError:
            with _making:
                token = _tokens.setdefault(thing, token)
    return int(token)


class _Tracked:
    """A lock around a lock: acquiring receives, releasing signals."""

    __slots__ = ("__weakref__", "_inner", "_token")

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._token = _native.new_token()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        taken: bool = self._inner.acquire(blocking, timeout)
        if taken:
            _native.host_wait(self._token)
        return taken

    def release(self) -> None:
        _native.host_signal(self._token)
        self._inner.release()

    def __enter__(self) -> bool:
        self._inner.acquire()
        _native.host_wait(self._token)
        return True

    def __exit__(self, *_: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return repr(self._inner)


class _TrackedRLock(_Tracked):
    """The same, with the methods that a Condition needs of an RLock."""

    __slots__ = ()

    def _release_save(self) -> Any:
        _native.host_signal(self._token)
        return self._inner._release_save()  # noqa: SLF001 - the protocol between RLock and Condition

    def _acquire_restore(self, state: Any) -> None:
        self._inner._acquire_restore(state)  # noqa: SLF001 - as above
        _native.host_wait(self._token)

    def _is_owned(self) -> bool:
        owned: bool = self._inner._is_owned()  # noqa: SLF001 - as above
        return owned


def is_tracked(condition: threading.Condition) -> bool:
    """True if the lock of the Condition signals and receives by itself."""
    return isinstance(condition._lock, _Tracked)  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other name


_WITH_OWN_RULES = frozenset(
    method.__code__
    for kind in (threading.Semaphore, threading.BoundedSemaphore, threading.Event, threading.Barrier)
    for method in vars(kind).values()
    if hasattr(method, "__code__")
)
"""Of classes whose methods signal and receive as a whole; the locks inside of them order more than they promise."""


def guards_inner_state(own: str = "eventide.runtime.access._barriers") -> bool:
    """True if the caller of the caller is a queue, a Semaphore, a module of this package that begins with `own` ...

    Then the lock guards the state of that, orders nothing that the program hands over, and would hide its races.
    Other modules of this package make locks and call functions of the program, such as ``event.set`` as work or as
    the function of a Timer. Work may be the patched function itself, which nothing in Python has called.
    """
    frame: FrameType | None = sys._getframe(1).f_back  # noqa: SLF001 - the only way to the caller without a stack
    while frame is not None and frame.f_globals.get("__name__") == "threading":
        if frame.f_code in _WITH_OWN_RULES:
            return True
        frame = frame.f_back
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module.startswith(own) or module in {
        "queue",
        "concurrent.futures.thread",
        "concurrent.futures._base",
    }


def make_lock(original: Callable[[], Any]) -> Callable[[], Any]:
    """Replaces ``threading.Lock``."""
    return lambda: original() if guards_inner_state("eventide.") else _Tracked(original())


def make_rlock(original: Callable[[], Any]) -> Callable[[], Any]:
    """Replaces ``threading.RLock``."""
    return lambda: original() if guards_inner_state("eventide.") else _TrackedRLock(original())
