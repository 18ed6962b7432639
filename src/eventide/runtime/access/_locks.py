"""Locks that signal on release and receive on acquire. They wrap the original locks, with a token each."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
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


def make_lock(original: Callable[[], Any]) -> Callable[[], Any]:
    """Replaces ``threading.Lock``."""
    return lambda: _Tracked(original())


def make_rlock(original: Callable[[], Any]) -> Callable[[], Any]:
    """Replaces ``threading.RLock``."""
    return lambda: _TrackedRLock(original())
