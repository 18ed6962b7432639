"""Futures of executors: code that gets a result, or observes that it exists, is ordered after it.

The locks and Events inside of ``concurrent.futures`` order more than that, by chance: they are not reported. ``wait``
and ``as_completed`` may have been imported by name before, so what they call is patched.
"""

from __future__ import annotations

import concurrent.futures
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from eventide import _native
from eventide.runtime.access._locks import token_of


def _sets(original: Callable[..., Any]) -> Callable[..., Any]:
    def setting(self: Any, *args: Any, **kwargs: Any) -> Any:
        _native.host_signal(token_of(self))
        return original(self, *args, **kwargs)

    return setting


def _asks(original: Callable[..., Any]) -> Callable[..., Any]:
    def done(self: Any) -> bool:
        is_done: bool = original(self)
        if is_done:
            _native.host_wait(token_of(self))
        return is_done

    return done


def _gets(original: Callable[..., Any]) -> Callable[..., Any]:
    def received(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        finally:
            self.done()

    return received


def _callback_receives(original: Callable[..., Any]) -> Callable[..., Any]:
    """The callback may run in the thread that adds it: the Future is done by then."""

    def add_done_callback(self: Any, fn: Callable[..., Any]) -> None:
        if getattr(fn, "__module__", None) == "asyncio.futures":
            original(self, functools.partial(_copy_in_the_loop, fn))
            return

        def received(future: Any) -> None:
            future.done()
            fn(future)

        original(self, received)

    return add_done_callback


def _copy_in_the_loop(copy: Callable[..., Any], future: Any) -> None:
    """Newer Pythons copy the result of a Future that is done at once, older ones in the next iteration of the loop.

    In between the coroutine has not awaited it: an order that it gets from the copy is one of this run alone.
    """
    loop = sys.modules["asyncio"]._get_running_loop()  # noqa: SLF001 - that of this thread, or None
    if loop is None:
        copy(future)
    else:
        loop.call_soon(copy, future)


def _yields(original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Of ``as_completed``: a Future that is yielded is done; others may be, but that is timing."""
    return lambda *args, **kwargs: map(_received, original(*args, **kwargs))  # map keeps no reference to what it yields


def _received(future: Any) -> Any:
    future.done()
    return future


def _returns(original: Callable[..., Any]) -> Callable[..., Any]:
    """What ``wait`` returns: those in ``done`` are."""

    def done_and_not_done(done: Any, not_done: Any) -> Any:
        for future in done:
            future.done()
        return original(done, not_done)

    return done_and_not_done


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        token = _native.host_signal()

        def received(*args: Any, **kwargs: Any) -> Any:
            _native.host_wait(token)
            return fn(*args, **kwargs)

        return original(self, received, *args, **kwargs)

    return submit


_Future, _base = concurrent.futures.Future, concurrent.futures._base  # noqa: SLF001 - see above
PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (_Future, "set_result", _sets),
    (_Future, "set_exception", _sets),
    (_Future, "cancel", _sets),
    (_Future, "done", _asks),
    (_Future, "result", _gets),
    (_Future, "exception", _gets),
    (_Future, "add_done_callback", _callback_receives),
    (_base, "_yield_finished_futures", _yields),
    (_base, "DoneAndNotDoneFutures", _returns),
    (concurrent.futures.ThreadPoolExecutor, "submit", _submit),
)
