"""Channels between threads that are not locks: SimpleQueue, and an event loop's call_soon_threadsafe."""

from __future__ import annotations

import functools
import queue
from collections.abc import Callable
from typing import Any

from eventide import _native


def make_simple_queue(original: Any) -> Any:
    """Replaces ``queue.SimpleQueue``, whose methods cannot be patched: each item carries the token of its put."""

    class Kind(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, thing: object) -> bool:
            return isinstance(thing, original)  # one that was made before is one, too

    class SimpleQueue(original, metaclass=Kind):  # type: ignore[misc]
        __module__ = "queue"

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            super().put((_native.host_signal(), item), block, timeout)

        def put_nowait(self, item: Any) -> None:
            super().put((_native.host_signal(), item))

        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            token, item = super().get(block, timeout)
            _native.host_wait(token)
            return item

        def get_nowait(self) -> Any:
            return self.get(block=False)

    SimpleQueue.__qualname__ = "SimpleQueue"
    return SimpleQueue


def make_call_soon_threadsafe(original: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces that of ``asyncio.BaseEventLoop``: the loop's thread receives before it calls."""

    @functools.wraps(original)
    def call_soon_threadsafe(self: Any, callback: Any, *args: Any, **kwargs: Any) -> Any:
        if not callable(callback):
            return original(self, callback, *args, **kwargs)
        return original(self, functools.partial(_received, _native.host_signal(), callback), *args, **kwargs)

    return call_soon_threadsafe


def _received(token: int, callback: Callable[..., Any], *args: Any) -> Any:
    _native.host_wait(token)
    return callback(*args)


PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = ((queue, "SimpleQueue", make_simple_queue),)
PATCHES_OF_LOOPS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("BaseEventLoop", "call_soon_threadsafe", make_call_soon_threadsafe),
)
"""Of ``asyncio``, which may not be imported yet."""
