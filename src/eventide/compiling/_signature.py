"""Callbacks may take the CallbackArgs or nothing: both are written in the wild."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from weakref import WeakKeyDictionary

from eventide.compiling._record import CallbackArgs
from eventide.errors import UsageTypeError

_known: WeakKeyDictionary[Callable[..., object], int | None] = WeakKeyDictionary()  # reading a signature takes 30 us


def check_callback(what: str, callback: Callable[..., object]) -> None:
    """Refuse what could never be called."""
    if not callable(callback):
        raise UsageTypeError(f"a {what} callback must be callable, not {type(callback).__name__}")
    if _arguments(callback) is None:
        raise UsageTypeError(
            f"a {what} callback is called with one CallbackArgs or with nothing; {callback!r} takes more"
        )


def call(callback: Callable[..., object], args: CallbackArgs) -> None:
    """Call it the way it can be called."""
    if _arguments(callback) == 0:
        callback()
    else:
        callback(args)


def _arguments(callback: Callable[..., object]) -> int | None:
    try:
        return _known[callback]
    except KeyError:
        return _known.setdefault(callback, _read(callback))
    except TypeError:  # one that cannot be a key
        return _read(callback)


def _read(callback: Callable[..., object]) -> int | None:
    """1 or 0, how many arguments it can be called with, 1 first; None if neither."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # a builtin that does not say
        return 1
    for count in (1, 0):
        try:
            signature.bind(*(None,) * count)
        except TypeError:
            continue
        return count
    return None
