"""One stream of a polled device, used by two threads or by its own hooks. argv: the scenario, and the device.

`tiny` and `prompt` are devices in Python, deferred and immediate, each of whose methods releases the GIL; a path is a
device in C++. Prints "ok" if the scenario ends as expected.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import runpy
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import eventide as et
from tests.helpers import TIMEOUT
from tests.immediate_device import Prompt

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 3000
METHODS = ("submit", "make_marker", "wait", "poll", "join", "completed_at", "error", "release", "flush", "now")


def releases_the_gil(backend: type[Any]) -> type[Any]:
    """A subclass each of whose methods lets other threads run before and after its own code."""

    def wrapped(name: str) -> Any:
        def method(self: Any, *arguments: Any) -> Any:
            time.sleep(0)
            result = getattr(backend, name)(self, *arguments)
            time.sleep(0)
            return result

        return method

    return type("Yielding", (backend,), {name: wrapped(name) for name in METHODS})


def device(name: str) -> str:
    """Register the device; the type that it has."""
    if name.endswith(".so"):
        return et.Device.load(name, "shared").type
    if name == "tiny":
        example = Path(__file__).parents[3] / "examples" / "tiny_device.py"
        return et.Device.register(releases_the_gil(runpy.run_path(str(example))["Tiny"]), name="yielding").type
    if name == "prompt":
        return et.Device.register(releases_the_gil(Prompt), name="yielding").type
    return name


def join(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()  # of a process that hangs, the test prints all stacks


def record_and_query(kind: str) -> None:
    """One thread records and submits, the other queries: no marker is polled before the device has made it."""
    stream, over = et.Stream(kind), threading.Event()

    def record() -> None:
        try:
            for number in range(ROUNDS):
                stream.record_event()
                if number % 16 == 0:
                    stream.submit(int)
        finally:
            over.set()

    def query() -> None:
        while not over.is_set():
            stream.query()

    join(threading.Thread(target=record, daemon=True), threading.Thread(target=query, daemon=True))
    stream.synchronize(TIMEOUT)
    assert stream.query()


class Asks(et.hooks.Observer):
    """Queries the other stream when work completes; both do so at the same time."""

    def __init__(self, streams: list[et.Stream]) -> None:
        first, second = streams
        self.other = {first.stream_id: second, second.stream_id: first}
        self.both = threading.Barrier(2)
        self.answers: list[bool] = []

    def work_completion(self, record: et.hooks.HookRecord) -> None:
        self.both.wait(TIMEOUT)
        self.answers.append(self.other[record.stream].query())


def hooks_query_each_other(kind: str) -> None:
    """Two threads whose hooks query each other's stream both return."""
    streams = [et.Stream(kind), et.Stream(kind)]
    asks = Asks(streams)
    with et.hooks.observe(asks):
        join(*(threading.Thread(target=stream.submit(int).result, daemon=True) for stream in streams))
    assert len(asks.answers) == 2, asks.answers


def hook_queries_its_stream(kind: str) -> None:
    """`query` of its own stream inside a hook is False; no marker passes twice."""
    stream = et.Stream(kind)
    answers: list[bool] = []
    with et.hooks.on("work_completion", lambda *_: answers.append(stream.query())):
        futures = [stream.submit(int) for _ in range(20)]
        events = [stream.record_event() for _ in range(3)]
        stream.synchronize(TIMEOUT)
    assert answers == [False] * 20, answers
    assert all(future.result(TIMEOUT) == 0 for future in futures)
    assert all(event.query() for event in events)


def hook_waits_for_its_stream(kind: str) -> None:
    """A hook that synchronizes its own stream is refused with the remedy: it would wait for itself."""
    stream = et.Stream(kind)
    errors: list[str] = []

    def wait(*_: int) -> None:
        try:
            stream.synchronize(TIMEOUT)
        except et.DeadlockError as error:
            errors.append(str(error))

    with et.hooks.on("work_completion", wait):
        stream.submit(int)
        stream.synchronize(TIMEOUT)
    assert len(errors) == 1, errors
    assert "would wait forever" in errors[0]


@contextlib.contextmanager
def no_threads() -> Iterator[None]:
    """Inside the block no thread can be started: the default stack size exceeds the address space."""
    libc, before, huge = ctypes.CDLL(None), (ctypes.c_char * 64)(), (ctypes.c_char * 64)()
    libc.pthread_getattr_default_np(before)
    libc.pthread_attr_init(huge)
    libc.pthread_attr_setstacksize(huge, ctypes.c_size_t(1 << 46))
    assert libc.pthread_setattr_default_np(huge) == 0
    try:
        yield
    finally:
        libc.pthread_setattr_default_np(before)


def callback_finds_no_thread(kind: str) -> None:
    """A callback that could not run because no thread could be started runs with the next one."""
    stream, first = et.Stream(kind), threading.Event()
    stream.submit(int)
    event = stream.record_event()
    with no_threads():
        event.notify(lambda _: first.set())
        event.synchronize(TIMEOUT)
    deadline = time.monotonic() + TIMEOUT
    while not first.wait(0.001):
        assert time.monotonic() < deadline, "the callback never ran"
        # Long enough to be pending when the callback is added: one of complete work needs no thread.
        stream.submit(time.sleep, 0.005).add_done_callback(lambda _: None)


if __name__ == "__main__":
    story, name = sys.argv[1:]
    sys.setswitchinterval(1e-5)
    globals()[story](device(name))
    sys.stdout.write("ok\n")
    sys.stdout.flush()
    os._exit(0)  # daemon threads of the device may still run
