"""Devices that run work inside submit: the kit on a tiny one in Python and one in C++, and what the kit leaves out."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import eventide as et
from eventide import _native
from eventide.backends import MarkerState
from eventide.testing import conformance
from tests import immediate_device
from tests.integration.plugin_devices import faulty_library, loaded

TIMEOUT = 60.0

os.environ["PLUGIN_FAULT"] = "immediate"
C_DEVICE = et.Device.load(faulty_library(), "prompt_c")

test_an_immediate_device_in_python = conformance.pytest_test("prompt", limit=60)
test_another_index_of_it = conformance.pytest_test("prompt:1", limit=60)
test_an_immediate_device_of_the_c_table = conformance.pytest_test(str(C_DEVICE), limit=60)


class Held:
    """A stream of the device with steps that wait for the test."""

    def __init__(self, stream: et.Stream) -> None:
        self.opened = threading.Event()
        stream.native.put(self.opened.wait)

    def release(self) -> None:
        self.opened.set()


def test_what_work_enqueues_runs_on_the_device_and_the_future_waits_for_it():
    stream, log = et.Stream("prompt"), []
    held = Held(stream)

    def work() -> str:
        et.current_stream().native.put(lambda: log.append(threading.current_thread().name))
        return "value"

    future = stream.submit(work)
    assert not future.done()
    assert log == []
    held.release()
    assert future.result(TIMEOUT) == "value"
    assert len(log) == 1
    assert log[0] != threading.current_thread().name


def test_a_raise_after_enqueueing_fails_the_future_when_the_device_has_completed_the_work():
    stream, log = et.Stream("prompt"), []
    held = Held(stream)

    def work() -> None:
        stream.native.put(lambda: log.append("enqueued"))
        raise KeyError("then raised")

    future = stream.submit(work)
    assert not future.done()
    held.release()
    assert isinstance(future.exception(TIMEOUT), KeyError)
    assert log == ["enqueued"]
    with pytest.raises(KeyError):
        stream.synchronize(TIMEOUT)


def test_a_blocking_call_inside_submit_closes_a_cycle_only_with_the_deferred_work_around_it():
    cpu, stream = et.Stream("cpu"), et.Stream("prompt")

    def inner() -> None:
        cpu.synchronize(TIMEOUT)

    def outer() -> BaseException | None:
        return stream.submit(inner).exception(TIMEOUT)

    assert isinstance(cpu.submit(outer).result(TIMEOUT), et.DeadlockError)
    assert stream.submit(inner).exception(TIMEOUT) is not None, "the stream has the error of the first"
    with pytest.raises(et.DeadlockError):
        stream.synchronize(TIMEOUT)
    assert stream.submit(inner).result(TIMEOUT) is None


def test_ctrl_c_inside_work_is_raised_by_submit():
    stream = et.Stream("prompt")

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        time.monotonic()  # where the interpreter looks for signals

    with pytest.raises(KeyboardInterrupt):
        stream.submit(work)
    with pytest.raises(KeyboardInterrupt):
        stream.synchronize(TIMEOUT)
    assert stream.submit(int, "3").result(TIMEOUT) == 3


def test_close_inside_work_ends_the_stream_after_it():
    stream, log = et.Stream("prompt"), []

    def work() -> None:
        stream.close(TIMEOUT)
        stream.native.put(lambda: log.append("after close"))

    assert stream.submit(work).result(TIMEOUT) is None
    assert log == ["after close"]
    with pytest.raises(et.StreamError, match="is closed"):
        stream.submit(int)


def test_threads_submit_to_one_stream_at_once_and_every_future_ends():
    stream, inside = et.Stream("prompt"), threading.Barrier(4, timeout=TIMEOUT)
    futures: list[et.Future[int]] = []

    def work(number: int) -> int:
        inside.wait()  # all four are inside submit: none keeps the others out
        return number

    threads = [threading.Thread(target=lambda n=n: futures.append(stream.submit(work, n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(future.result(TIMEOUT) for future in futures) == [0, 1, 2, 3]
    stream.synchronize(TIMEOUT)
    assert stream.query()


def test_a_limit_blocks_submit_until_the_device_has_completed_work():
    stream = et.Stream("prompt", max_pending=1)
    held, log = Held(stream), []
    first = stream.submit(log.append, 1)
    second = threading.Thread(target=stream.submit, args=(log.append, 2))
    second.start()
    assert stream.pending == 1
    assert log == [1]
    held.release()
    second.join(TIMEOUT)
    assert not second.is_alive()
    assert first.result(TIMEOUT) is None
    stream.synchronize(TIMEOUT)
    assert log == [1, 2]


def test_device_times_are_on_the_trace_s_clock_and_elapsed_time_on_the_device_s():
    stream = et.Stream("prompt")
    start, end = et.Event("prompt", enable_timing=True), et.Event("prompt", enable_timing=True)
    before = time.monotonic_ns()
    start.record(stream)
    stream.submit(lambda: stream.native.put(lambda: time.sleep(0.01)))
    end.record(stream)
    end.synchronize(TIMEOUT)
    after = time.monotonic_ns()
    clock = et.Device("prompt").clock
    assert clock.mapped
    assert clock.name == "prompt"
    assert abs(clock.offset_ns - immediate_device.OFFSET_NS) < 1_000_000_000
    assert 0 <= clock.error_ns < 1_000_000_000
    assert before - clock.error_ns - 10_000 <= start.completed_at <= end.completed_at
    assert end.completed_at <= after + clock.error_ns + 10_000
    assert start.elapsed_time(end) >= 10.0
    (mine,) = [one for one in et.runtime.device_clocks() if one["device"] == "prompt:0"]
    assert mine["samples"] >= clock.samples
    assert mine["anchors"]


def test_the_clock_of_a_device_of_the_c_table_is_measured_by_its_now():
    stream = et.Stream("prompt_c")
    event = et.Event("prompt_c", enable_timing=True)
    before = time.monotonic_ns()
    event.record(stream)
    event.synchronize(TIMEOUT)
    after = time.monotonic_ns()
    clock = et.Device("prompt_c").clock
    assert abs(clock.offset_ns + 5_000_000_000) <= clock.error_ns
    assert before - clock.error_ns - 10_000 <= event.completed_at <= after + clock.error_ns + 10_000


def test_work_that_a_device_never_ran_has_failed():
    with loaded("forgetful", "immediate, runs nothing") as device:
        stream = et.Stream(device)
        error = stream.submit(int).exception(TIMEOUT)
        assert "passed work" in str(error)
        assert "without running it" in str(error)
        with pytest.raises(et.EventideError, match="without running it"):
            stream.synchronize(TIMEOUT)
        stream.close(TIMEOUT)
        del stream, error


class Refusing(immediate_device.Prompt):
    """Refuses work, or raises after it ran"""

    def submit(self, stream, work):
        if self.after:
            work.run()
        raise OSError("no room")


@pytest.mark.parametrize("after", [False, True])
def test_a_device_that_raises_in_submit_refuses_the_work_or_fails_it(after):
    backend = Refusing()
    backend.after = after
    device = et.Device.register(backend, name=f"refusing_{after}".lower())
    stream, log = et.Stream(device), []
    if after:
        assert "no room" in str(stream.submit(log.append, 1).exception(TIMEOUT))
        assert log == [1]
        with pytest.raises(et.EventideError, match="no room"):
            stream.synchronize(TIMEOUT)
    else:
        with pytest.raises(et.DeviceError, match=r"submit\(\) of device 'refusing_false' raised OSError: no room"):
            stream.submit(log.append, 1)
        assert log == []
        stream.synchronize(TIMEOUT)
    assert stream.pending == 0
    assert stream.query()


class Unbridged(immediate_device.Prompt):
    """Accepts only markers of one index: two drivers under one name"""

    def make_marker(self, steps, timing):
        marker = super().make_marker(steps, timing)
        marker.steps = steps
        return marker

    def wait(self, steps, marker):
        return super().wait(steps, marker) if marker.steps is steps else NotImplemented


def test_a_marker_that_the_driver_does_not_support_is_bridged_by_the_host():
    device = et.Device.register(Unbridged, name="unbridged")
    stream, other = et.Stream(device), et.Stream(device)
    held = Held(stream)
    other.wait_event(stream.record_event())
    future = other.submit(int, "3")
    assert not future.done()
    held.release()
    assert future.result(TIMEOUT) == 3


def test_memory_that_the_host_cannot_see_has_no_buffer_protocol():
    buffer = et.empty(8, "prompt")
    with pytest.raises(BufferError, match="the host cannot see memory of prompt:0"):
        memoryview(buffer)
    back = bytearray(8)
    stream = et.Stream("prompt")
    stream.copy(buffer, b"12345678")
    assert stream.copy(back, buffer).result(TIMEOUT) is None
    assert back == b"12345678"


def test_a_device_without_capabilities_is_refused():
    class Silent(immediate_device.Prompt):
        def capabilities(self, index):
            raise OSError("gone")

    with pytest.raises(et.DeviceError, match=r"capabilities\(\) of device 'silent' raised OSError: gone"):
        et.Device.register(Silent, name="silent")
    assert MarkerState.DONE == 1
    assert "silent" not in dict(_native.device_types())
