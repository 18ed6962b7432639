"""A faulty device in Python: the verb or the Future raises an error that names the method, and everything else works.

The same for devices in C++ is test_plugin_faults.py.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import eventide as et
from eventide.backends import MarkerState
from examples.tiny_device import Marker, Tiny
from tests.helpers import TIMEOUT, Background, Gate, eventually, root_cause
from tests.integration.device_fault_checks import (
    check_completed_markers_stay_complete,
    check_failed_gate,
    check_failed_wait,
    check_rejected_work,
    check_reversed_times,
    check_work_runs_once,
)
from tests.integration.faulty_python import Once, faulty, giving, raising, unraisable

GONE = OSError("gone")


@pytest.fixture(autouse=True)
def nothing_else_breaks() -> Iterator[None]:
    yield
    with faulty() as right:
        for device in ("cpu", right):
            stream = et.Stream(device)
            assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
            stream.close(TIMEOUT)
        del stream


def causes_of(stream: et.Stream) -> tuple[str, str]:
    """How work fails on a stream, and then its close."""
    future = stream.submit(int, "7")
    failed = str(root_cause(future.exception(TIMEOUT)))
    with pytest.raises(et.DeviceError) as caught:
        stream.close(TIMEOUT)
    return failed, str(caught.value)


# Errors of the verb


def test_a_stream_that_cannot_be_opened() -> None:
    words = r"open_stream\(\) of device 'wrongpy\d+' raised OSError: gone"
    with faulty(open_stream=raising(GONE)) as device, pytest.raises(et.DeviceError, match=words):
        et.Stream(device)


def test_work_that_the_device_rejects_is_refused_and_changes_nothing() -> None:
    with faulty(submit=raising(GONE)) as device:
        check_rejected_work(device, r"submit\(\) of device 'wrongpy\d+' raised OSError: gone")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (raising(GONE), r"make_marker\(\) of device 'wrongpy\d+' raised OSError: gone"),
        (
            giving(None),
            r"make_marker\(\) of device 'wrongpy\d+' returned None; return an object that poll\(\) accepts",
        ),
    ],
)
def test_a_marker_that_cannot_be_made_fails_the_record_and_the_work_before_it(method: Any, words: str) -> None:
    with faulty(make_marker=method) as device:
        stream = et.Stream(device)
        with pytest.raises(et.DeviceError, match=words):
            stream.record_event()
        with pytest.raises(et.DeviceError, match=words):
            stream.submit(int).result(TIMEOUT)
        with pytest.raises(et.DeviceError, match=words):
            stream.close(TIMEOUT)
        del stream


@pytest.mark.parametrize("name", ["make_marker", "poll"])
def test_a_marker_that_cannot_be_made_or_polled_loses_no_earlier_work(name: str) -> None:
    method, gate, ran = Once(name, GONE), Gate(), list[int]()
    with faulty(**{name: method}) as device:
        stream, held = et.Stream(device), et.Stream(device)
        gate.hold(held)
        stream.wait_stream(held)
        before = stream.submit(ran.append, 1)
        if name == "make_marker":
            method.armed = True
        without = stream.submit(int)
        method.armed = name == "poll"
        assert not without.done()
        assert not method.armed
        with pytest.raises(TimeoutError):
            without.result(0.01)
        assert not before.done()
        gate.open()
        with pytest.raises(et.DeviceError, match=rf"{name}\(\) of device 'wrongpy\d+' raised OSError: gone"):
            without.result(TIMEOUT)
        assert before.result(TIMEOUT) is None
        assert ran == [1]
        with pytest.raises(et.DeviceError, match="gone"):
            stream.close(TIMEOUT)
        held.close(TIMEOUT)
        del stream, held, before, without


def test_a_wait_that_fails_is_an_error_of_the_verb_and_holds_nothing() -> None:
    with faulty(wait=raising(GONE)) as device:
        check_failed_wait(device, r"wait\(\) of device 'wrongpy\d+' raised OSError: gone")


def test_a_gate_that_fails_is_an_error_of_the_verb() -> None:
    with faulty(gate=raising(GONE)) as device:
        check_failed_gate(device, r"gate\(\) of device 'wrongpy\d+' raised OSError: gone")


def test_a_gate_that_does_not_open_is_an_error_of_its_stream() -> None:
    tokens: list[threading.Event] = []

    def gate(_: Any, steps: Any) -> threading.Event:
        tokens.append(Tiny.gate(_, steps))
        return tokens[-1]

    with faulty(gate=gate, open=raising(GONE)) as device:
        cpu, stream, held = et.Stream("cpu"), et.Stream(device), Gate()
        held.hold(cpu)
        stream.wait_stream(cpu)
        future = stream.submit(int)
        before = et._native.callbacks_run()
        held.open()
        cpu.close(TIMEOUT)
        eventually(lambda: et._native.callbacks_run() > before, "the gate is to be opened")
        tokens[0].set()  # the stream of the device itself continues: what is behind the gate is skipped
        assert "open() of device" in str(root_cause(future.exception(TIMEOUT)))
        with pytest.raises(et.DeviceError, match=r"open\(\) of device 'wrongpy\d+' raised OSError: gone"):
            stream.close(TIMEOUT)
        del stream, future


def test_a_flush_that_fails_fails_later_work() -> None:
    with faulty(flush=raising(GONE)) as device:
        stream = et.Stream(device)
        stream.record_event()
        failed, closed = causes_of(stream)
        assert "flush() of device" in failed
        assert "raised OSError: gone" in closed
        del stream


# Errors of the marker: the Future fails, and the stream until it is synchronized


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("poll", raising(GONE), "raised OSError: gone"),
        ("poll", giving("yes"), "returned 'yes' (str); return a MarkerState: PENDING, DONE or FAILED"),
        ("poll", giving(None), "returned None; return a MarkerState: PENDING, DONE or FAILED"),
        ("poll", giving(1.0), "returned 1.0 (float); return a MarkerState"),
        ("poll", giving(99), "returned 99 (int); return a MarkerState"),
        ("poll", giving(-1), "returned -1 (int); return a MarkerState"),
        ("poll", giving(2**80), "(int); return a MarkerState"),
        ("poll", giving("x" * 500), "xxx... (str); return a MarkerState"),
        ("join", raising(GONE), "raised OSError: gone"),
        ("completed_at", raising(GONE), "raised OSError: gone"),
        ("completed_at", giving("late"), "returned 'late' (str); return nanoseconds as an int"),
        ("completed_at", giving(None), "returned None; return nanoseconds as an int"),
        ("error", raising(GONE), "raised OSError: gone"),
        ("error", giving("bad"), "returned 'bad' (str); return an exception or None"),
        ("error", giving(OSError), "(type); return an exception or None"),
    ],
)
def test_a_device_whose_marker_functions_fail(name: str, method: Any, words: str) -> None:
    with faulty(**{name: method}) as device:
        stream = et.Stream(device)
        for said in causes_of(stream):
            assert said.startswith(f"{name}() of device '{device.type}' ")
            assert words in said
        del stream


def test_a_marker_that_fails_without_a_reason_is_an_error() -> None:
    with faulty(poll=giving(MarkerState.FAILED)) as device:
        stream = et.Stream(device)
        for said in causes_of(stream):
            assert "FAILED" in said
            assert "return from error() what went wrong" in said
        del stream


def test_what_error_returns_is_raised_itself() -> None:
    reason = OSError("the bus fell off")
    with faulty(poll=giving(MarkerState.FAILED), error=giving(reason)) as device:
        stream = et.Stream(device)
        assert root_cause(stream.submit(int).exception(TIMEOUT)) is reason
        with pytest.raises(OSError, match="the bus fell off"):
            stream.close(TIMEOUT)
        del stream


# An error without a caller to raise it is reported


@pytest.mark.parametrize("name", ["release", "close_stream", "now"])
def test_a_device_that_fails_to_release_breaks_nothing(name: str) -> None:
    with unraisable() as reports, faulty(**{name: raising(GONE)}) as device:
        stream = et.Stream(device)
        assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        stream.close(TIMEOUT)
        del stream
        eventually(lambda: any("gone" in one for one in reports), "the error is reported")


def test_memory_that_cannot_be_freed_is_reported() -> None:
    block = bytearray(64)
    address = et._native.buffer_address(block)
    with unraisable() as reports, faulty(allocate=giving(address), free=raising(GONE)) as device:
        et.empty(64, device=device).free()
        assert reports == ["OSError: gone"]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (raising(GONE), "OSError: gone"),
        (giving(5), "returned 5 (int); return (before, device, after) in nanoseconds, or None"),
        (giving((1, 2)), "returned (1, 2) (tuple); return (before, device, after) in nanoseconds, or None"),
        (giving(("a", 2, 3)), "returned 'a' (str); return (before, device, after) in nanoseconds, or None"),
    ],
)
def test_a_clock_that_cannot_be_read_is_reported_and_work_goes_on(method: Any, words: str) -> None:
    def other_clock(self: Any, index: int) -> et.Capabilities:
        return dataclasses.replace(Tiny.capabilities(self, index), clock="of its own")

    with unraisable() as reports, faulty(read_clock=method, capabilities=other_clock) as device:
        stream = et.Stream(device)
        assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        stream.close(TIMEOUT)
        assert any(words in one for one in reports), reports
        del stream


# What a device reports about itself


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("capabilities", raising(GONE), "raised OSError: gone"),
        ("capabilities", giving(None), "returned None; return an eventide.Capabilities"),
        ("capabilities", giving(7), r"returned 7 \(int\); return an eventide.Capabilities"),
        ("count", raising(GONE), "raised OSError: gone"),
        ("count", giving("two"), r"returned 'two' \(str\); return how many there are, at least 0"),
        ("count", giving(-1), r"returned -1 \(int\); return how many there are, at least 0"),
    ],
)
def test_a_device_whose_description_fails_is_not_registered(name: str, method: Any, words: str) -> None:
    expected = rf"{name}\(\) of device 'wrongpy\d+' {words}"
    with pytest.raises(et.DeviceError, match=expected), faulty(**{name: method}):
        pass


def test_a_count_that_fails_later_hides_that_device_only() -> None:
    count = Once("count", GONE)
    with unraisable() as reports, faulty(count=count) as device:
        count.armed = True
        assert (device.type, 0) in et._native.device_types()
        assert reports == [f"DeviceError: count() of device '{device.type}' raised OSError: gone"]
        assert device.type in {one.type for one in et.devices()}


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("allocate", raising(GONE), "raised OSError: gone"),
        ("allocate", giving("here"), r"returned 'here' \(str\); return the address as an int"),
        ("allocate", giving(None), "returned None; return the address as an int"),
        ("allocate", giving("\u20ac" * 99), "returned '\u20ac+\ufffd\\.\\.\\. "),  # cut inside a character
    ],
)
def test_memory_that_cannot_be_allocated(name: str, method: Any, words: str) -> None:
    with faulty(**{name: method}) as device, pytest.raises(et.DeviceError, match=rf"{name}\(\) of device .* {words}"):
        et.empty(64, device=device)


def test_no_memory_is_a_memory_error() -> None:
    with faulty(allocate=giving(0)) as device, pytest.raises(MemoryError, match="cannot allocate 64 bytes"):
        et.empty(64, device=device)


@pytest.mark.parametrize(
    ("method", "words"),
    [(raising(GONE), "raised OSError: gone"), (giving("x"), r"returned 'x' \(str\); return the handle as an int")],
)
def test_an_invalid_handle_is_refused(method: Any, words: str) -> None:
    with faulty(native_handle=method) as device:
        stream = et.Stream(device)
        with pytest.raises(et.DeviceError, match=rf"native_handle\(\) of device 'wrongpy\d+' {words}"):
            _ = stream.native_handle
        stream.close(TIMEOUT)
        del stream


# Wrong results


def test_a_completed_marker_stays_complete() -> None:
    answers: dict[Marker, int] = {}

    def poll(_: Any, marker: Marker) -> MarkerState:
        if not marker.passed.is_set():
            return MarkerState.PENDING
        answers[marker] = answers.get(marker, 0) + 1
        return MarkerState.DONE if answers[marker] == 1 else MarkerState.PENDING

    with faulty(poll=poll) as device:
        check_completed_markers_stay_complete(device)


def test_times_that_run_backwards_are_returned_unchanged() -> None:
    with faulty(completed_at=lambda _, marker: 2**62 - marker.time) as device:
        check_reversed_times(device)


def test_work_that_the_device_loses_is_an_error_of_its_future() -> None:
    with faulty(submit=giving(None)) as device:
        stream = et.Stream(device)
        for said in causes_of(stream):
            assert "without running it" in said
        del stream


def test_work_that_is_run_after_it_was_lost_does_not_run() -> None:
    kept: list[Any] = []
    with faulty(submit=lambda _, steps, work: kept.append(work)) as device:
        stream = et.Stream(device)
        ran: list[int] = []
        future = stream.submit(ran.append, 1)
        assert isinstance(future.exception(TIMEOUT), et.DeviceError)
        kept.pop().run()
        assert ran == []
        with pytest.raises(et.DeviceError):
            stream.close(TIMEOUT)
        del stream, future


def test_work_that_the_device_runs_twice_runs_once() -> None:
    refused: list[str] = []

    def submit(_: Any, steps: Any, work: Any) -> None:
        def again() -> None:
            try:
                work.run()
            except et.UsageError as error:
                refused.append(str(error))

        steps.put(work.run)
        steps.put(again)

    with faulty(submit=submit) as device:
        check_work_runs_once(device)
        eventually(lambda: len(refused) == 20, "every second run is refused")
        assert set(refused) == {"this work was run already; a device runs each work once"}


def test_work_that_the_device_runs_inside_submit_gives_its_result() -> None:
    with faulty(submit=lambda _, steps, work: work.run()) as device:
        stream = et.Stream(device)
        assert [stream.submit(int, "7").result(TIMEOUT) for _ in range(3)] == [7, 7, 7]
        stream.close(TIMEOUT)
        del stream


def test_a_failure_that_another_thread_detects_reaches_a_stream_that_waits_for_it() -> None:
    """The device passes work without running it; one thread is about to report it when the waiting stream continues."""
    asked, answer, lost = threading.Event(), threading.Event(), set()

    def submit(_: Any, steps: Any, work: Any) -> None:
        if steps not in lost:
            steps.put(work.run)

    def error(_: Any, marker: Marker) -> None:
        if not asked.is_set():
            asked.set()
            assert answer.wait(TIMEOUT)

    with faulty(submit=submit, error=error) as device:
        first, second = et.Stream(device), et.Stream(device)
        lost.add(first._device_stream)
        future = first.submit(int)
        event = first.record_event()
        finding_out = Background(functools.partial(event.synchronize, TIMEOUT))
        assert asked.wait(TIMEOUT)
        second.wait_event(event)
        ran: list[int] = []
        later = second.submit(ran.append, 1)
        assert "without running it" in str(root_cause(later.exception(TIMEOUT)))
        assert ran == []
        answer.set()
        with pytest.raises(et.StreamError):
            finding_out.result()
        assert "without running it" in str(future.exception(TIMEOUT))
        for stream in (first, second):
            with pytest.raises(et.DeviceError, match="without running it"):
                stream.close(TIMEOUT)
        lost.clear()
        del first, second, stream, event, future, later, finding_out
