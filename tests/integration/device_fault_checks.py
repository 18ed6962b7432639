"""Checks of faulty devices, the same for devices in C++ and in Python.

No name of a stream or an event is left when a check returns, so that the device can be unregistered.
"""

from __future__ import annotations

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Gate


def check_rejected_work(device: et.Device, words: str) -> None:
    """submit() fails: the caller gets the error, nothing is pending, and the stream has no error."""
    stream = et.Stream(device, max_pending=2)
    for _ in range(3):  # more than may be pending
        with pytest.raises(et.DeviceError, match=words):
            stream.submit(int)
    assert stream.pending == 0
    stream.record_event().synchronize(TIMEOUT)
    stream.close(TIMEOUT)


def check_failed_wait(device: et.Device, words: str) -> None:
    """wait() fails: the caller gets the error, and the stream does not wait."""
    first, second, gate = et.Stream(device), et.Stream(et.Device(device.type, 1)), Gate()
    gate.hold(first)
    event = first.record_event()
    with pytest.raises(et.DeviceError, match=words):
        second.wait_event(event)
    assert second.submit(sum, (1, 2)).result(TIMEOUT) == 3
    gate.open()
    first.close(TIMEOUT)
    second.close(TIMEOUT)


def check_failed_gate(device: et.Device, words: str) -> None:
    """gate() fails: the caller gets the error, and the stream does not wait."""
    cpu, stream, gate = et.Stream("cpu"), et.Stream(device), Gate()
    gate.hold(cpu)
    with pytest.raises(et.DeviceError, match=words):
        stream.wait_stream(cpu)
    assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
    gate.open()
    cpu.close(TIMEOUT)
    stream.close(TIMEOUT)


def check_completed_markers_stay_complete(device: et.Device) -> None:
    """poll() returns DONE once and PENDING afterwards: the event stays complete."""
    stream = et.Stream(device)
    events = [stream.record_event() for _ in range(20)]
    stream.synchronize(TIMEOUT)
    assert all(event.query() and event.query() for event in events)
    stream.close(TIMEOUT)


def check_reversed_times(device: et.Device) -> None:
    """completed_at() runs backwards: elapsed_time() returns the negative difference of the two times."""
    stream = et.Stream(device)
    start, end = et.Event(device, enable_timing=True), et.Event(device, enable_timing=True)
    start.record(stream)
    stream.submit(int)
    end.record(stream)
    end.synchronize(TIMEOUT)
    assert end.completed_at < start.completed_at
    assert start.elapsed_time(end) == pytest.approx((end.completed_at - start.completed_at) / 1e6)
    stream.close(TIMEOUT)


def check_work_runs_once(device: et.Device) -> None:
    """The device runs each work twice: its function runs once, in order."""
    stream = et.Stream(device)
    ran: list[int] = []
    for number in range(20):
        stream.submit(ran.append, number)
    stream.close(TIMEOUT)
    assert ran == list(range(20))
