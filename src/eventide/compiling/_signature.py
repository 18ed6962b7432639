"""Callbacks may take the CallbackArgs or nothing: programs use both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from weakref import WeakKeyDictionary

from eventide.compiling._record import CallbackArgs
from eventide.errors import UsageTypeError

_counts: WeakKeyDictionary[Callable[..., object], int | None] = WeakKeyDictionary()  # reading a signature takes 30 us


def check_callback(what: str, callback: Callable[..., object]) -> None:
    """Raise for a callback that cannot be called."""
    if not callable(callback):
        raise UsageTypeError(f"a {what} callback must be callable, not {type(callback).__name__}")
    if _arguments(callback) is None:
        raise UsageTypeError(
            f"a {what} callback is called with one CallbackArgs or with nothing; {callback!r} takes more"
        )


def call(callback: Callable[..., object], args: CallbackArgs) -> None:
    """Call it with as many arguments as it takes."""
    if _arguments(callback) == 0:
        callback()
    else:
        callback(args)


def _arguments(callback: Callable[..., object]) -> int | None:
    try:
        return _counts[callback]
    except KeyError:
        return _counts.setdefault(callback, _read(callback))
    except TypeError:  # not hashable
        return _read(callback)


def _read(callback: Callable[..., object]) -> int | None:
    """1 or 0, how many arguments it can be called with, 1 first; None if neither."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # a builtin without a signature
        return 1
    for count in (1, 0):
        try:
            signature.bind(*(None,) * count)
        except TypeError:
            continue
        return count
    return None
