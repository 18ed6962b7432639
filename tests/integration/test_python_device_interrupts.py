"""Ctrl-C and SystemExit inside a device in Python: the thread that called the runtime gets them.

The stream is sound afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import eventide as et
from examples.tiny_device import Tiny
from tests.helpers import TIMEOUT, Background, Gate, eventually
from tests.integration.faulty_python import Once, faulty


def query(stream: et.Stream) -> object:
    """Query an event that the device has passed."""
    event = et.Event(stream.device, enable_timing=True)
    event.record(stream)
    deadline = time.monotonic() + TIMEOUT
    while not event.query():
        assert time.monotonic() < deadline
    return event


def wait_for_cpu(stream: et.Stream) -> None:
    cpu, gate = et.Stream("cpu"), Gate()
    gate.hold(cpu)
    try:
        stream.wait_stream(cpu)
    finally:
        gate.open()
        cpu.close(TIMEOUT)


def wait_for_other(stream: et.Stream) -> None:
    other, gate = et.Stream(stream.device), Gate()
    gate.hold(other)
    event = other.record_event()
    try:
        stream.wait_event(event)
    finally:
        gate.open()
        other.close(TIMEOUT)


def query_stream(stream: et.Stream) -> bool:
    stream.submit(int)
    return stream.query() and stream.query()


def synchronize(stream: et.Stream, seconds: float = 0.0) -> None:
    stream.submit(time.sleep, seconds)
    stream.synchronize(TIMEOUT)


def synchronize_device(stream: et.Stream) -> None:
    stream.submit(time.sleep, 0.05)
    et.synchronize(stream.device)


def result_of_slow_work(stream: et.Stream) -> object:
    return stream.submit(time.sleep, 0.05).result(TIMEOUT)


VERBS: dict[str, tuple[str, Callable[[et.Stream], object]]] = {
    "submit": ("submit", lambda stream: stream.submit(int)),
    "the marker of a submit": ("make_marker", lambda stream: stream.submit(int)),
    "the flush of a submit": ("flush", lambda stream: stream.submit(int)),
    "the marker of a copy": ("make_marker", lambda stream: stream.copy(bytearray(4), bytes(4))),
    "record": ("make_marker", lambda stream: stream.record_event()),
    "the flush of a record": ("flush", lambda stream: stream.record_event()),
    "wait": ("wait", wait_for_other),
    "wait for the cpu": ("gate", wait_for_cpu),
    "query of an event": ("poll", query),
    "the time of an event": ("completed_at", query),
    "the error of an event": ("error", query),
    "query of a stream": ("poll", query_stream),
    "result": ("join", result_of_slow_work),
    "poll in result": ("poll", result_of_slow_work),
    "done": ("poll", lambda stream: stream.submit(time.sleep, 0.05).done()),
    "synchronize": ("make_marker", synchronize),
    "join in synchronize": ("join", lambda stream: synchronize(stream, 0.05)),
    "synchronize the device": ("join", synchronize_device),
    "open_stream": ("open_stream", lambda stream: et.Stream(stream.device)),
    "native_handle": ("native_handle", lambda stream: stream.native_handle),
    "memory": ("allocate", lambda stream: et.empty(64, device=stream.device)),
    "capabilities": ("capabilities", lambda stream: stream.device.capabilities),
    "devices": ("count", lambda stream: et.devices()),
    "name": ("name", lambda stream: stream.device.name),
}


def heal(stream: et.Stream) -> None:
    """The stream may raise an error of the device once; then it works as before."""
    with contextlib.suppress(et.DeviceError):
        stream.synchronize(TIMEOUT)
    assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
    stream.synchronize(TIMEOUT)
    assert stream.query()
    assert stream.pending == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("on_main_thread", [True, False])
def test_the_caller_of_the_verb_gets_it(verb: str, kind: type[BaseException], on_main_thread: bool) -> None:
    name, call = VERBS[verb]
    once = Once(name, kind("from the device"))
    with faulty(**{name: once}) as device:
        stream = et.Stream(device)
        once.armed = True
        use = functools.partial(call, stream)
        with pytest.raises(kind, match="from the device") as caught:
            _ = use() if on_main_thread else Background(use).result()
        assert caught.value is once.error
        assert not once.armed
        heal(stream)
        stream.close(TIMEOUT)
        once.error = KeyboardInterrupt()  # its frames have the stream
        del stream, caught, use


def test_close_raises_what_close_stream_raised() -> None:
    once = Once("close_stream", KeyboardInterrupt("from the device"))
    with faulty(close_stream=once) as device:
        stream = et.Stream(device)
        assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        once.armed = True
        with pytest.raises(KeyboardInterrupt, match="from the device"):
            stream.close(TIMEOUT)
        assert stream.closed
        stream.close(TIMEOUT)
        once.error = KeyboardInterrupt()
        del stream


@pytest.mark.parametrize("verb", ["submit", "the marker of a submit", "the flush of a submit"])
def test_work_whose_submit_was_interrupted_runs_once_or_not_at_all(verb: str) -> None:
    name, _ = VERBS[verb]
    once = Once(name, KeyboardInterrupt())
    with faulty(**{name: once}) as device:
        stream = et.Stream(device, max_pending=2)
        ran: list[int] = []
        for number in range(5):  # more than may be pending: nothing is lost
            once.armed = True
            with pytest.raises(KeyboardInterrupt):
                stream.submit(ran.append, number)
            with contextlib.suppress(et.DeviceError):
                stream.synchronize(TIMEOUT)
        assert ran == sorted(set(ran))
        heal(stream)
        stream.close(TIMEOUT)
        once.error = KeyboardInterrupt()
        del stream


def test_on_a_thread_of_the_device_the_main_thread_gets_it() -> None:
    """On the thread that runs the work, no verb was called."""
    once = Once("now", KeyboardInterrupt("from the device's thread"))
    with faulty(now=once) as device:
        stream = et.Stream(device)
        once.armed = True
        with pytest.raises(KeyboardInterrupt, match="from the device's thread"):
            future = stream.submit(sum, (1, 2))
            eventually(lambda: not once.armed, "the device is asked")
            for _ in range(1000):
                time.sleep(0.001)  # the main thread runs Python code
        assert future.result(TIMEOUT) == 3
        stream.close(TIMEOUT)
        once.error = KeyboardInterrupt()
        del stream, future


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_ctrl_c_while_join_runs_python_code() -> None:
    def join(_: Any, marker: Any, timeout: float) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        Tiny.join(_, marker, timeout)

    with faulty(join=join) as device:
        stream, gate = et.Stream(device), Gate()
        future = gate.hold(stream, 7)
        with pytest.raises(KeyboardInterrupt):
            future.result(TIMEOUT)
        gate.open()
        eventually(future.done, "the work ends")
        assert future.result(TIMEOUT) == 7
        eventually(stream.query, "the stream ends")
        stream.close(TIMEOUT)
        del stream, future
