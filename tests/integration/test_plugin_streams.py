"""Streams and events on a device in C++, step by step: ids, timing and its errors, order, versions.

The device runs work on threads, so that each assertion can fail.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Gate
from tests.integration.plugin_devices import EXAMPLE, loaded

TIMING = "Both events must be created with argument 'enable_timing=True'"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The type of the device, compiled from sources and include paths with spaces and quotes."""
    folder = tmp_path_factory.mktemp("plugin")
    includes = [folder / "cpp_extensions", folder / "path / with spaces in it", folder / "path with quote'"]
    for path in includes:
        path.mkdir(parents=True)
    source = shutil.copy(EXAMPLE, includes[1] / "extension.cpp")
    device = et.Device.build(
        "plugin_streams",
        sources=[Path(source)],
        include_paths=includes,
        build_directory=folder / "build",
    )
    return device.type


@pytest.fixture
def stream(built: str) -> Iterator[et.Stream]:
    stream = et.Stream(built)
    yield stream
    stream.close(TIMEOUT)


def test_ids_timing_and_versions_of_streams_and_events(built: str, stream: et.Stream) -> None:
    assert stream.device_type == "plugin_streams"
    assert (stream.device, stream.device_index) == (et.Device("plugin_streams", 0), 0)
    e = et.Event(built, enable_timing=True)
    e1 = et.Event(built, enable_timing=True)
    e1.record()
    assert e.device.type == "plugin_streams"
    assert e.event_id == 0
    assert e1.event_id != 0
    stream.record_event(event=e)
    assert e.event_id not in (0, e1.event_id)
    e2 = stream.record_event()  # without timing
    assert e2.event_id not in (0, e.event_id, e1.event_id)
    assert e2.device == stream.device
    for event in (e, e1, e2):
        event.synchronize(TIMEOUT)
        assert event.query()
    elapsed = e.elapsed_time(e1)
    assert elapsed == pytest.approx((e1.completed_at - e.completed_at) / 1e6)
    assert e1.elapsed_time(e) == -elapsed
    with pytest.raises(ValueError, match=TIMING):
        e.elapsed_time(e2)
    with pytest.raises(ValueError, match=TIMING):
        e2.elapsed_time(e)
    old_event_id = e.event_id
    e.record(stream=stream)
    assert e.event_id == old_event_id
    assert e.version == 2


def test_without_a_stream_an_event_is_recorded_on_the_current_one_of_its_device(built: str, stream: et.Stream) -> None:
    event, gate = et.Event(built), Gate()
    gate.hold(stream)
    event.record()
    event.synchronize(TIMEOUT)  # the default stream is not held
    with stream:
        event.record()
    assert not event.query()
    gate.open()
    event.synchronize(TIMEOUT)


def test_an_event_completes_when_the_thread_of_the_stream_has_passed_it(stream: et.Stream) -> None:
    gate = Gate()
    before = stream.record_event()
    before.synchronize(TIMEOUT)
    gate.hold(stream)
    after = stream.record_event()
    assert (before.query(), after.query(), stream.query()) == (True, False, False)
    with pytest.raises(TimeoutError):
        after.synchronize(0.01)
    gate.open()
    after.synchronize(TIMEOUT)
    assert after.query()


def test_work_runs_in_order_on_the_one_thread_of_its_stream(stream: et.Stream) -> None:
    ran: list[int] = []

    def note(number: int) -> int:
        ran.append(number)
        return threading.get_native_id()

    threads = {stream.submit(note, number).result(TIMEOUT) for number in range(20)}
    futures = [stream.submit(note, number) for number in range(20, 200)]
    threads |= {future.result(TIMEOUT) for future in futures}
    assert ran == list(range(200))
    assert len(threads) == 1
    assert threading.get_native_id() not in threads


@pytest.mark.parametrize("index", [0, 1])
def test_a_stream_waits_for_another_one_of_any_index(built: str, stream: et.Stream, index: int) -> None:
    other, gate = et.Stream(et.Device(built, index)), Gate()
    ran: list[str] = []
    gate.hold(stream)
    stream.submit(ran.append, "first")
    other.submit(ran.append, "free").result(TIMEOUT)
    other.wait_event(stream.record_event())
    held = other.submit(ran.append, "second")
    assert not held.done()
    assert ran == ["free"]
    gate.open()
    held.result(TIMEOUT)
    assert ran == ["free", "first", "second"]
    other.close(TIMEOUT)


def test_a_wait_is_bound_to_the_version_recorded_when_it_was_called(built: str, stream: et.Stream) -> None:
    waiting, event, gates = et.Stream(built), et.Event(built), (Gate(), Gate())
    futures = []
    for gate in gates:
        futures.append(stream.submit(gate))
        event.record(stream)
        if event.version == 1:
            waiting.wait_event(event)
    released = waiting.submit(int)
    assert not released.done()
    gates[0].open()
    released.result(TIMEOUT)  # though the second version is pending
    assert event.version == 2
    assert not event.query()
    gates[1].open()
    event.synchronize(TIMEOUT)
    waiting.close(TIMEOUT)


def test_times_are_those_of_the_device_and_not_of_the_query(built: str, stream: et.Stream) -> None:
    start, middle, end = (et.Event(built, enable_timing=True) for _ in range(3))
    before = time.monotonic_ns()
    start.record(stream)
    stream.submit(time.sleep, 0.02)
    middle.record(stream)
    stream.submit(time.sleep, 0.01)
    end.record(stream)
    with pytest.raises(RuntimeError, match="synchronize"):
        start.elapsed_time(end)
    end.synchronize(TIMEOUT)
    after = time.monotonic_ns()
    assert before <= start.completed_at <= middle.completed_at <= end.completed_at <= after
    assert start.elapsed_time(middle) >= 20.0
    assert middle.elapsed_time(end) >= 10.0
    # queried later, out of order, and again: the same, since the device took the time when it passed
    assert start.elapsed_time(middle) + middle.elapsed_time(end) == pytest.approx(start.elapsed_time(end), abs=1e-6)
    assert start.elapsed_time(end) == start.elapsed_time(end)


def test_events_of_different_device_types_have_no_common_time(built: str, stream: et.Stream) -> None:
    ours, cpu = et.Event(built, enable_timing=True), et.Event("cpu", enable_timing=True)
    ours.record(stream)
    cpu.record()
    for event in (ours, cpu):
        event.synchronize(TIMEOUT)
    with pytest.raises(et.UsageValueError):
        ours.elapsed_time(cpu)
    with pytest.raises(et.UsageValueError):
        cpu.record(stream)


@pytest.mark.parametrize("waits", ["the plug-in waits for the cpu", "the cpu waits for the plug-in"])
def test_waits_between_the_plug_in_and_the_cpu(stream: et.Stream, waits: str) -> None:
    cpu, gate = et.Stream("cpu"), Gate()
    ran: list[int] = []
    held, waiting = (cpu, stream) if waits.startswith("the plug-in") else (stream, cpu)
    gate.hold(held)
    held.submit(ran.append, 1)
    waiting.wait_stream(held)
    last = waiting.submit(ran.append, 2)
    assert not last.done()
    gate.open()
    last.result(TIMEOUT)
    assert ran == [1, 2]
    cpu.close(TIMEOUT)


def test_streams_of_the_plug_in_run_at_once(built: str) -> None:
    streams = [et.Stream(et.Device(built, index)) for index in (0, 0, 1)]
    barrier = threading.Barrier(len(streams))
    futures = [stream.submit(barrier.wait, TIMEOUT) for stream in streams]
    assert sorted(future.result(TIMEOUT) for future in futures) == [0, 1, 2]
    for stream in streams:
        stream.close(TIMEOUT)


def test_the_same_library_twice_keeps_its_streams_apart() -> None:
    with loaded("left") as left, loaded("right") as right:
        one, two, gate = et.Stream(left), et.Stream(right), Gate()
        gate.hold(one)
        assert two.submit(sum, (1, 2)).result(TIMEOUT) == 3
        gate.open()
        one.close(TIMEOUT)
        two.close(TIMEOUT)
        del one, two
