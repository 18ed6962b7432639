"""Signals between host threads, reported to the hooks while ``start()`` is in effect.

Thread start and join, queues, locks, Conditions, Events, Semaphores, Barriers, Futures of executors, pipes, sockets and
``call_soon_threadsafe`` of an event loop are patched while active and restored after. A hand-over is a signal by one
thread and a wait by another, joined by a token; the patched functions otherwise behave as before. Queues, Semaphores,
Events and executors order what they promise: the locks inside of them are not reported. Not detected: a ``Lock``,
``RLock`` or ``SimpleQueue`` that was made before, and threads that communicate through memory alone.
"""

from __future__ import annotations

import functools
import itertools
import queue
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util.on_import import ImportHook, when_imported
from eventide.runtime.access import _barriers, _bytes, _channels, _futures
from eventide.runtime.access._locks import guards_inner_state, is_tracked, make_lock, make_rlock, token_of
from eventide.runtime.access._permits import forget_permits, make_acquire, make_release, permits_of

_users = 0
_originals: list[tuple[Any, str, Any]] = []  # what is inherited: _INHERITED
_INHERITED = object()
_later: list[ImportHook] = []  # modules that may not be imported yet
_starting = threading.RLock()  # guards the three above

_items: weakref.WeakKeyDictionary[Any, dict[int, deque[int]]] = weakref.WeakKeyDictionary()
"""Of each queue: the tokens of what is in it, by the id of the item."""
_items_lock = threading.Lock()


def start() -> None:
    """Report hand-overs until ``stop()`` was called as often."""
    global _users  # noqa: PLW0603 - one switch for the process
    with _starting:
        _users += 1
        if _users == 1:
            modules = _PATCHES, _barriers.PATCHES, _bytes.PATCHES, _channels.PATCHES, _futures.PATCHES
            for owner, name, make in itertools.chain.from_iterable(modules):
                _patch(owner, name, make)
            for module, patches in _PATCHES_ON_IMPORT:
                _later.append(when_imported(module, functools.partial(_patch_module, module, patches)))


def _patch(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    _originals.append((owner, name, original if name in vars(owner) else _INHERITED))
    setattr(owner, name, make(original))


def _patch_module(module: str, patches: tuple[tuple[str, str, Callable[[Any], Any]], ...]) -> None:
    with _starting:
        if _users:
            there = sys.modules[module]
            for owner, name, make in patches:
                _patch(getattr(there, owner) if owner else there, name, make)


def stop() -> None:
    """Restore the original functions. Objects created meanwhile keep working and report nothing."""
    global _users  # noqa: PLW0603 - one switch for the process
    with _starting:
        _users -= 1
        if _users == 0:
            while _later:
                _later.pop().close()
            while _originals:
                owner, name, original = _originals.pop()
                delattr(owner, name) if original is _INHERITED else setattr(owner, name, original)
            _bytes.forget()
            forget_permits()


def _thread_start(original: Callable[..., None]) -> Callable[..., None]:
    def start(self: threading.Thread) -> None:
        token = _native.host_signal()
        run = self.run

        def run_after_start() -> None:
            del self.run
            _native.host_wait(token)
            try:
                run()
            finally:
                _native.host_signal(token_of(self))

        try:
            self.run = run_after_start  # type: ignore[method-assign]
        except AttributeError:  # a class with slots: its start is not detected
            return original(self)
        try:
            return original(self)
        except BaseException:
            self.__dict__.pop("run", None)
            raise

    return start


def _thread_join(original: Callable[..., None]) -> Callable[..., None]:
    def join(self: threading.Thread, timeout: float | None = None) -> None:
        original(self, timeout)
        if not self.is_alive():
            _native.host_wait(token_of(self))

    return join


def _queue_put(original: Callable[..., None]) -> Callable[..., None]:
    def put(self: queue.Queue[Any], item: Any, block: bool = True, timeout: float | None = None) -> None:
        token = _native.host_signal()
        with _items_lock:
            _items.setdefault(self, {}).setdefault(id(item), deque()).append(token)
        room = permits_of(self, lambda: self.maxsize - self._qsize()) if self.maxsize > 0 else None
        try:
            original(self, item, block, timeout)
        except BaseException as error:
            _token_of_item(self, item, last=True)
            _shut_down(self, error)
            raise
        if room is not None:
            room.acquired()

    return put


def _queue_get(original: Callable[..., Any]) -> Callable[..., Any]:
    def get(self: queue.Queue[Any], block: bool = True, timeout: float | None = None) -> Any:
        room = permits_of(self, lambda: self.maxsize - self._qsize()) if self.maxsize > 0 else None
        place, released = room.begin_release() if room else 0, False
        try:
            item = original(self, block, timeout)
            released = True
        except BaseException as error:
            _shut_down(self, error)
            raise
        finally:
            if room:
                room.end_release(place, released)
        token = _token_of_item(self, item, last=isinstance(self, queue.LifoQueue))
        if token:
            _native.host_wait(token)
        return item

    return get


def _shut_down(self: queue.Queue[Any], error: BaseException) -> None:
    """Who is refused because of ``Queue.shutdown``, from Python 3.13 on, comes after it."""
    if isinstance(error, getattr(queue, "ShutDown", ())):
        _native.host_wait(token_of(self))


def _token_of_item(self: queue.Queue[Any], item: Any, *, last: bool = False) -> int:
    with _items_lock:
        tokens = _items.get(self, {})
        waiting = tokens.get(id(item))
        if not waiting:
            return 0  # it was put before start()
        token = waiting.pop() if last else waiting.popleft()
        if not waiting:
            del tokens[id(item)]
        return token


def _signals(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call signals what this thread did."""

    def signalling(self: Any, *args: Any, **kwargs: Any) -> Any:
        _native.host_signal(token_of(self))
        return original(self, *args, **kwargs)

    return signalling


def _waits(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call that returns anything but False has received the signal."""

    def waiting(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if result is not False:
            _native.host_wait(token_of(self))
        return result

    return waiting


def _of_untracked(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of a Condition whose lock was made before: one with a tracked lock signals and receives by that."""

    def patched(original: Callable[..., Any]) -> Callable[..., Any]:
        reporting = make(original)

        def call(self: threading.Condition, *args: Any, **kwargs: Any) -> Any:
            return (original if is_tracked(self) or guards_inner_state() else reporting)(self, *args, **kwargs)

        return call

    return patched


def _of_program(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of Events: those inside of ``concurrent.futures`` order more than its functions promise."""

    def patched(original: Callable[..., Any]) -> Callable[..., Any]:
        reporting = make(original)

        def call(self: threading.Event, *args: Any, **kwargs: Any) -> Any:
            return (original if guards_inner_state() else reporting)(self, *args, **kwargs)

        return call

    return patched


_PATCHES: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (threading.Thread, "start", _thread_start),
    (threading.Thread, "join", _thread_join),
    (threading, "Lock", make_lock),
    (threading, "RLock", make_rlock),
    (threading.Condition, "__enter__", _of_untracked(_waits)),
    (threading.Condition, "wait", _of_untracked(_waits)),
    (threading.Condition, "notify", _of_untracked(_signals)),
    (threading.Condition, "__exit__", _of_untracked(_signals)),
    (threading.Event, "set", _of_program(_signals)),
    (threading.Event, "is_set", _of_program(_waits)),
    (threading.Event, "wait", _of_program(_waits)),
    (threading.Semaphore, "release", make_release),
    (threading.BoundedSemaphore, "release", make_release),
    (threading.Semaphore, "acquire", make_acquire),
    (threading.Semaphore, "__enter__", make_acquire),
    (queue.Queue, "put", _queue_put),
    (queue.Queue, "get", _queue_get),
    (queue.Queue, "task_done", _signals),
    (queue.Queue, "join", _waits),
    *(((queue.Queue, "shutdown", _signals),) if hasattr(queue.Queue, "shutdown") else ()),
)
_PATCHES_ON_IMPORT = (
    ("asyncio", _channels.PATCHES_OF_LOOPS),
    ("socket", _bytes.PATCHES_OF_SOCKETS),
    ("multiprocessing.connection", _bytes.PATCHES_OF_CONNECTIONS),
)
