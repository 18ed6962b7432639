"""What test_stand_in.py runs in a process of its own: torch settles on its accelerator once, and there it is ours."""

from __future__ import annotations

import os
import threading
import time

import pytest
import torch

import eventide as et
from eventide.testing import conformance, stand_in
from eventide.testing.stand_in import underlying

DEVICE = stand_in.install(os.environ["STAND_IN_BUILD"])
TIMEOUT = 120.0
TIMING = "Both events must be created with argument 'enable_timing=True'"

test_conformance_of_the_torch_device = conformance.pytest_test("torch:mtia:0", limit=240)
test_conformance_of_its_second_device = conformance.pytest_test("torch:mtia:1", limit=240)


class Held:
    """A stream of torch's that is held until it is released."""

    def __init__(self, stream: torch.Stream) -> None:
        self.gate, self.began = threading.Event(), threading.Event()
        underlying(stream).submit(self.block)
        assert self.began.wait(TIMEOUT)

    def block(self) -> None:
        self.began.set()
        self.gate.wait(TIMEOUT)

    def release(self) -> None:
        self.gate.set()


def test_ids_timing_and_versions_of_streams_and_events():
    # The steps of torch's own test of a fake device, whose assertions hold whatever happens. These can fail.
    s = torch.Stream()
    assert s.device.type == "mtia"
    e, e1 = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    e1.record()
    assert e.device.type == "mtia"
    assert e.event_id == 0
    assert e1.event_id != 0
    s.record_event(event=e)
    assert e.event_id not in (0, e1.event_id)
    e2 = s.record_event()  # without timing
    assert e2.event_id not in (0, e.event_id, e1.event_id)
    for event in (e, e1, e2):
        event.synchronize()
        assert event.query()
    assert e1.elapsed_time(e) > 0  # e1 was recorded first, on an idle stream
    assert e.elapsed_time(e1) == -e1.elapsed_time(e)
    with pytest.raises(ValueError, match=TIMING):
        e.elapsed_time(e2)
    old = e.event_id
    e.record(stream=s)
    assert e.event_id == old


def test_a_wait_orders_two_streams_of_torch():
    one, two, log = torch.Stream(), torch.Stream(), []
    held = Held(one)
    underlying(one).submit(log.append, "first")
    two.wait_event(one.record_event())
    behind = underlying(two).submit(log.append, "second")
    assert not behind.done()
    assert not two.query()
    held.release()
    behind.result(TIMEOUT)
    assert log == ["first", "second"]
    two.synchronize()
    assert two.query()


def test_a_wait_binds_to_the_version_it_saw():
    one, two, three = torch.Stream(), torch.Stream(), torch.Stream()
    event = one.record_event()
    event.synchronize()
    two.wait_event(event)
    held = Held(three)
    event.record(three)  # a later version, pending: it must not delay who waited before
    assert not event.query()
    two.synchronize()
    held.release()
    event.synchronize()
    assert event.query()


def test_times_are_those_of_the_stream():
    stream = torch.Stream()
    start, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    stream.record_event(start)
    underlying(stream).submit(time.sleep, 0.02)
    stream.record_event(end)
    end.synchronize()
    assert start.elapsed_time(end) >= 20.0


def test_what_fails_before_an_event_is_raised_by_synchronize():
    stream = torch.Stream()
    underlying(stream).submit(int, "no number")
    event = stream.record_event()
    with pytest.raises(RuntimeError, match="work before the event failed"):
        event.synchronize()
    with pytest.raises(ValueError, match="no number"):
        underlying(stream).synchronize(TIMEOUT)


def test_the_current_stream_is_of_the_thread_and_of_the_device():
    stream, seen = torch.Stream(device="mtia:1"), []
    default = torch.accelerator.current_stream()
    with stream:
        assert torch.accelerator.current_stream() == stream
        assert torch.accelerator.current_device_index() == 1
        thread = threading.Thread(target=lambda: seen.append(torch.accelerator.current_stream("mtia:0")))
        thread.start()
        thread.join(TIMEOUT)
    assert torch.accelerator.current_stream() == default == seen[0]
    assert torch.accelerator.current_device_index() == 0
    assert torch.accelerator.device_count() == 2


def test_synchronizing_the_accelerator_waits_for_its_streams():
    stream, log = torch.Stream(), []
    held = Held(stream)
    underlying(stream).submit(log.append, 1)
    threading.Timer(0.01, held.release).start()
    torch.accelerator.synchronize()
    assert log == [1]


def test_work_of_the_torch_device_runs_with_its_stream_current_in_torch():
    stream = et.Stream("torch:mtia:1")
    native = stream.submit(torch.accelerator.current_stream).result(TIMEOUT)
    assert native == stream.native
    assert native.device == torch.device("mtia:1")
    assert stream.native_handle == underlying(native).stream_id or stream.native_handle > 0


def test_a_stream_of_torch_is_wrapped_and_orders_with_ours():
    theirs = torch.Stream(device="mtia:1")
    stream, ours = et.Stream.wrap(theirs), et.Stream("torch:mtia:1")
    assert stream.native is theirs
    assert stream.device == et.Device("torch:mtia:1")
    held = Held(theirs)
    ours.wait_stream(stream)
    future = ours.submit(int, "3")
    assert not future.done()
    held.release()
    assert future.result(TIMEOUT) == 3


def test_it_is_listed_with_the_others_and_says_what_it_is():
    found = {str(device): device.name for device in et.devices()}
    assert "the API, not a GPU" in found["torch:mtia:0"]
    assert {"torch:mtia:1", "cpu:0"} <= set(found)


def test_its_clock_is_measured_by_anchors_and_work_lands_between_host_marks():
    stream = et.Stream(DEVICE)
    for _ in range(10):
        event = et.Event(DEVICE, enable_timing=True)
        before = time.monotonic_ns()
        event.record(stream)
        event.synchronize(TIMEOUT)
        after = time.monotonic_ns()
        clock = DEVICE.clock
        error = clock.error_ns + (after - before) // 1000 + 20_000
        assert before - error <= event.completed_at <= after + error
    assert clock.mapped
    assert clock.name == "events of torch:mtia"
