"""Channels between threads that are not locks: SimpleQueue, pipes, and an event loop's call_soon_threadsafe."""

from __future__ import annotations

import functools
import os
import queue
import stat
import threading
from collections.abc import Callable
from typing import Any

from eventide import _native

_pipes: dict[tuple[int, int], int] = {}
"""Of each pipe, by device and inode: its token."""
_pipes_lock = threading.Lock()  # made before anything is patched


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


def make_write(original: Callable[..., int]) -> Callable[..., int]:
    """Replaces ``os.write``: to a pipe it signals."""

    @functools.wraps(original)
    def write(fd: int, data: Any, /) -> int:
        if token := _token_of_pipe(fd):
            _native.host_signal(token)
        return original(fd, data)

    return write


def make_read(original: Callable[..., bytes]) -> Callable[..., bytes]:
    """Replaces ``os.read``: from a pipe it receives."""

    @functools.wraps(original)
    def read(fd: int, length: int, /) -> bytes:
        data = original(fd, length)
        if token := _token_of_pipe(fd):
            _native.host_wait(token)
        return data

    return read


def _token_of_pipe(fd: int) -> int:
    try:
        about = os.fstat(fd)
    except (OSError, TypeError, OverflowError):
        return 0  # the call itself raises
    if not stat.S_ISFIFO(about.st_mode):
        return 0
    with _pipes_lock:
        return _pipes.setdefault((about.st_dev, about.st_ino), _native.new_token())


def forget_pipes() -> None:
    """The system uses the numbers of a pipe again."""
    with _pipes_lock:
        _pipes.clear()


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


PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (queue, "SimpleQueue", make_simple_queue),
    (os, "write", make_write),
    (os, "read", make_read),
)
