"""Shared by the tests: gates that hold work, threads that return their result, callbacks on hooks, timeouts.

Nothing here sleeps for a time that an assertion depends on. A gate is opened by the test; every wait ends after
TIMEOUT seconds with an error, so that a defect fails a test and never hangs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import eventide as et

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

TIMEOUT = 10.0  # seconds; how long anything may take before the test gives up

T = TypeVar("T")


class Boom(Exception):
    """The error that work raises in these tests."""


def boom(message: str = "boom") -> None:
    """Work that fails."""
    raise Boom(message)


class Gate:
    """Work that holds its stream until `open`: submit the gate itself, or call it from other work."""

    def __init__(self) -> None:
        self._entered = threading.Event()
        self._open = threading.Event()

    def __call__(self, value: Any = None) -> Any:
        self._entered.set()
        if not self._open.wait(TIMEOUT):
            raise AssertionError("the gate was never opened")
        if isinstance(value, BaseException):
            raise value
        return value

    def open(self) -> None:
        """Let the work continue."""
        self._open.set()

    def hold(self, stream: Any, value: Any = None) -> Any:
        """Submit the gate and return its Future once the stream is held. The Future returns `value`, or raises it."""
        future = stream.submit(self, value)
        self.reached()
        return future

    def reached(self) -> None:
        """Wait until the work has reached the gate."""
        assert self._entered.wait(TIMEOUT), "nothing ever reached the gate"


class Background(Generic[T]):
    """A call on a thread of its own; `result` joins the thread."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._value: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="test-background", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value.append(self._call())
        except BaseException as error:
            self._error = error

    @property
    def ended(self) -> bool:
        """Whether the call has returned or raised."""
        return bool(self._value) or self._error is not None

    def result(self) -> T:
        """What the call returned; raises what it raised."""
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the thread never returned"
        if self._error is not None:
            raise self._error
        return self._value[0]

    def error(self) -> BaseException | None:
        """What the call raised, if anything."""
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the thread never returned"
        return self._error


@contextlib.contextmanager
def patient_gil() -> Iterator[None]:
    """Inside the block a thread keeps the GIL until it releases it, so that blocking is detectable."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TIMEOUT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def blocked_in(call: Callable[[], T]) -> Background[T]:
    """Make `call` on a thread and return as soon as it has released the GIL inside `call`, or has returned."""
    ready = threading.Event()

    def run() -> T:
        ready.set()
        return call()

    with patient_gil():
        background = Background(run)
        assert ready.wait(TIMEOUT)
    return background


def eventually(condition: Callable[[], object], what: str) -> None:
    """Wait until the condition is true; another thread makes it so."""
    deadline = time.monotonic() + TIMEOUT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"timed out waiting until {what}"
        pause.wait(0.001)


def assert_is_freed(reference: Callable[[], object], what: str) -> None:
    """The object behind a weak reference is dropped, be it by another thread or by the collector."""

    def gone() -> bool:
        gc.collect()
        return reference() is None

    eventually(gone, f"{what} is freed")


@contextlib.contextmanager
def hook_calls(hook: str, device: str | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """The arguments of every firing of one hook, in a list that grows."""
    calls: list[tuple[Any, ...]] = []

    def listen(*arguments: Any) -> None:
        calls.append(arguments)

    with et.hooks.on(hook, listen, device=device):
        yield calls


def outcome(call: Callable[[], object]) -> str:
    """The result as text, or the name of the exception."""
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__


def root_cause(error: BaseException | None) -> BaseException | None:
    """The first error of a chain of causes."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return error


def run_loop(awaitable: Awaitable[T]) -> T:
    """Run a loop on a separate thread: changes of the current stream stay there."""

    async def bounded() -> T:
        async with asyncio.timeout(TIMEOUT):
            return await awaitable

    return Background(lambda: asyncio.run(bounded())).result()


async def waiting_for(awaitable: Awaitable[T]) -> asyncio.Task[T]:
    """A task that awaits, once it is suspended at its await."""

    async def wait() -> T:
        return await awaitable

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    return task
