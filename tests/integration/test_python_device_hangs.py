"""A device in Python that hangs, is slow or fails: other streams continue, every verb times out, the process exits."""

from __future__ import annotations

import functools
import json
import threading
import time
from typing import Any

import pytest

import eventide as et
from examples.tiny_device import Tiny
from tests.helpers import TIMEOUT, Background, Gate
from tests.integration.faulty_python import faulty
from tests.integration.processes import run


@pytest.mark.parametrize("name", ["poll", "join", "completed_at", "error", "submit", "make_marker", "wait"])
def test_while_a_method_hangs_other_streams_continue(name: str) -> None:
    entered, leave = threading.Event(), threading.Event()
    right = getattr(Tiny, name)

    def hanging(backend: Any, *given: Any) -> Any:
        if armed and threading.current_thread().name == "test-background":
            entered.set()
            assert leave.wait(TIMEOUT)
        return right(backend, *given)

    armed = False
    with faulty(**{name: hanging}) as device:
        hung, other, cpu, gate = et.Stream(device), et.Stream(device), et.Stream("cpu"), Gate()
        gate.hold(other)
        event = other.record_event()
        armed = True

        def use(stream: et.Stream, event: et.Event) -> int:
            stream.wait_event(event)
            return int(stream.submit(sum, (1, 2)).result(TIMEOUT))

        background = Background(functools.partial(use, hung, event))
        if name in {"poll", "join", "completed_at", "error"}:
            gate.open()  # these are asked once the work is on its way
        assert entered.wait(TIMEOUT)
        gate.open()
        assert other.submit(sum, (3, 4)).result(TIMEOUT) == 7
        assert cpu.submit(sum, (5, 6)).result(TIMEOUT) == 11
        assert isinstance(hung.query(), bool)
        leave.set()
        assert background.result() == 3
        for stream in (hung, other, cpu):
            stream.close(TIMEOUT)
        del stream, hung, other, event, background


@pytest.mark.parametrize("name", ["close_stream", "open"])
def test_while_a_device_hangs_in_what_follows_a_marker_callbacks_of_others_run(name: str) -> None:
    entered, leave, called = threading.Event(), threading.Event(), threading.Event()
    right = getattr(Tiny, name)

    def hanging(*given: Any) -> Any:
        entered.set()
        assert leave.wait(TIMEOUT)
        return right(*given)

    with faulty(**{name: hanging}) as device:
        hung, cpu, gate = et.Stream(device), et.Stream("cpu"), Gate()
        gate.hold(cpu)
        hung.wait_stream(cpu)
        if name == "close_stream":
            del hung
        gate.open()
        assert entered.wait(TIMEOUT)
        later = Gate()
        later.hold(cpu)
        cpu.record_event().notify(lambda _: called.set())
        later.open()
        assert called.wait(TIMEOUT)
        leave.set()
        cpu.close(TIMEOUT)
        if name == "open":
            hung.close(TIMEOUT)
            del hung


def test_a_slow_device_gives_correct_results() -> None:
    def slow(name: str) -> Any:
        right = getattr(Tiny, name)

        def method(*given: Any) -> Any:
            time.sleep(0.001)
            return right(*given)

        return method

    names = ("submit", "make_marker", "wait", "poll", "join", "completed_at", "close_stream")
    with faulty(**{name: slow(name) for name in names}) as device:
        streams = [et.Stream(device) for _ in range(3)]
        ran: list[int] = []
        for number in range(15):
            stream = streams[number % 3]
            stream.wait_event(streams[(number - 1) % 3].record_event())
            stream.submit(ran.append, number)
        for stream in streams:
            stream.close(TIMEOUT)
        assert ran == list(range(15))
        del stream, streams


@pytest.mark.parametrize("name", ["submit", "make_marker", "wait"])
def test_a_method_that_hangs_in_a_daemon_thread_does_not_block_the_exit(name: str) -> None:
    child = run("python_device_hangs", name, limit=30.0, EVENTIDE_EXIT_TIMEOUT="0.1").check(0)
    assert child.out == "DeviceError: the process ends, and another thread has not returned from the stream's device\n"


@pytest.mark.parametrize("fault", ["markers never end", "its thread dies"])
def test_markers_that_never_complete_time_out_in_every_verb_and_at_exit(fault: str) -> None:
    child = run("python_device_never_completes", fault, EVENTIDE_EXIT_TIMEOUT="0.1").check(0)
    said = json.loads(child.out)
    assert said == {
        "result": "TimeoutError",
        "event": "TimeoutError",
        "stream": "TimeoutError",
        "other": "3",
        "cpu": "3",
    }
    assert "work item" in child.err
    assert "abandoned at exit" in child.err
