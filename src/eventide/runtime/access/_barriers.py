"""Barriers: each round orders what its threads did before it, then the action, then what they do after it.

A thread that arrives for the next round has signalled nothing yet to one that is slow to leave this one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from eventide import _native

_ROUND, _PLACES = "_eventide_round", "_eventide_places"
"""Of a Barrier: the token of its round; and that of each thread inside. Its own lock guards both."""


def _make_enter(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Replaces ``_enter``, which returns when the threads of the round before have left."""

    def enter(self: Any) -> None:
        original(self)
        state = self.__dict__
        if self._count == 0 or _ROUND not in state:
            state[_ROUND] = _native.new_token()
        token = state[_ROUND]
        _native.host_signal(token)
        state.setdefault(_PLACES, {})[threading.get_ident()] = token
        if self._count + 1 == self._parties:
            _native.host_wait(token)  # the last one calls the action

    return enter


def _make_release(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Replaces ``_release``, in which the last thread calls the action."""

    def release(self: Any) -> None:
        original(self)
        if token := self.__dict__.get(_ROUND):
            _native.host_signal(token)

    return release


def _make_wait(original: Callable[..., int]) -> Callable[..., int]:
    def wait(self: Any, timeout: float | None = None) -> int:
        try:
            return original(self, timeout)
        finally:
            with self._cond:
                token = self.__dict__.get(_PLACES, {}).pop(threading.get_ident(), 0)
            if token:
                _native.host_wait(token)

    return wait


PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (threading.Barrier, "_enter", _make_enter),
    (threading.Barrier, "_release", _make_release),
    (threading.Barrier, "wait", _make_wait),
)
