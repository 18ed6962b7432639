"""A device in C++ that fails in use: the verb or the Future raises an error, and everything else works."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Gate, root_cause
from tests.integration.device_fault_checks import (
    check_completed_markers_stay_complete,
    check_failed_gate,
    check_failed_wait,
    check_rejected_work,
    check_reversed_times,
    check_work_runs_once,
)
from tests.integration.plugin_devices import example_library, faulty_library, loaded, threads_device, unregister
from tests.integration.processes import run


@pytest.fixture(autouse=True)
def nothing_else_breaks() -> Iterator[None]:
    threads_device()
    yield
    for device in ("cpu", "threads:1"):
        stream = et.Stream(device)
        assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        stream.close(TIMEOUT)


def test_a_stream_that_cannot_be_opened() -> None:
    words = r"open_stream\(\) of device 'faulty\d+' failed: no more queues"
    with loaded("faulty", "open_stream fails") as device, pytest.raises(et.DeviceError, match=words):
        et.Stream(device)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("submit fails", r"submit\(\) of device 'faulty\d+' failed: the queue is full"),
        ("submit fails in silence", r"submit\(\) of device 'faulty\d+' failed$"),
        ("submit throws", r"submit\(\) of device 'faulty\d+' threw thrown by submit"),
    ],
)
def test_work_that_the_device_rejects_is_refused_and_changes_nothing(fault: str, words: str) -> None:
    with loaded("faulty", fault) as device:
        check_rejected_work(device, words)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("wait fails", r"wait\(\) of device 'faulty\d+' failed: too many waits"),
        ("wait throws", r"wait\(\) of device 'faulty\d+' threw thrown by wait"),
    ],
)
def test_a_wait_that_fails_is_an_error_of_the_verb_and_holds_nothing(fault: str, words: str) -> None:
    with loaded("faulty", fault) as device:
        check_failed_wait(device, words)


def test_a_gate_that_fails_is_an_error_of_the_verb() -> None:
    with loaded("faulty", "gate fails") as device:
        check_failed_gate(device, r"gate\(\) of device 'faulty\d+' failed: no gate left")


def test_a_flush_that_throws_fails_later_work() -> None:
    with loaded("faulty", "flush throws") as device:
        stream = et.Stream(device)
        stream.record_event()
        error = stream.submit(int).exception(TIMEOUT)
        assert isinstance(error, et.StreamError)
        assert "thrown by flush" in str(root_cause(error))
        with pytest.raises(et.DeviceError, match="thrown by flush"):
            stream.close(TIMEOUT)
        del stream, error


def test_a_marker_that_fails_gives_its_stream_an_error_with_the_message_of_the_device() -> None:
    with loaded("faulty", "marker fails") as device:
        stream = et.Stream(device)
        event = stream.record_event()
        with pytest.raises(et.StreamError) as caught:
            event.synchronize(TIMEOUT)
        assert isinstance(caught.value.__cause__, et.DeviceError)
        assert str(caught.value.__cause__) == f"device '{device.type}' failed: the bus fell off"
        assert event.query()
        with pytest.raises(et.DeviceError, match="the bus fell off"):
            stream.close(TIMEOUT)
        del stream, event, caught


def test_work_that_the_device_loses_is_an_error_of_its_future() -> None:
    with loaded("faulty", "work is lost") as device:
        stream = et.Stream(device)
        error = stream.submit(int).exception(TIMEOUT)
        assert isinstance(error, et.DeviceError)
        assert "without running it" in str(error)
        with pytest.raises(et.DeviceError, match="without running it"):
            stream.close(TIMEOUT)
        del stream, error


def test_work_that_the_device_runs_twice_runs_once() -> None:
    with loaded("faulty", "work runs twice") as device:
        check_work_runs_once(device)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("make_marker fails", "make_marker() of device 'faulty' failed: out of markers"),
        ("make_marker throws", "make_marker() of device 'faulty' threw thrown by make_marker"),
        ("two markers only", "make_marker() of device 'faulty' failed: out of markers"),
        ("poll throws", "poll() of device 'faulty' threw thrown by poll"),
        ("join throws", "join() of device 'faulty' threw thrown by join"),
        ("poll gives 99", "poll() of device 'faulty' gave 99, which is not an eventide_marker_state"),
        ("completed_at throws", "completed_at() of device 'faulty' threw thrown by completed_at"),
        ("error throws", "error() of device 'faulty' threw thrown by error"),
        ("gate throws", "gate() of device 'faulty' threw thrown by gate"),
        ("open_gate throws", "open_gate() of device 'faulty' threw thrown by open_gate"),
        ("allocate throws", "allocate() of device 'faulty' threw thrown by allocate"),
        ("last_error throws", "last_error() of device 'faulty' threw thrown by last_error"),
    ],
)
def test_a_device_that_breaks_while_work_runs(fault: str, words: str) -> None:
    """In a separate process: freeing what the device's thread still uses crashes the process."""
    child = run("plugin_fault", faulty_library(), fault, limit=40.0, EVENTIDE_EXIT_TIMEOUT="0.1").check(0)
    said = json.loads(child.out)
    assert said.pop("cpu") == "3"
    assert "Traceback" not in child.err
    assert any(words in one for one in said.values()), said
    for verb, one in said.items():
        assert words in one or one in {"held", "7", "None", "True", "False", "1"}, f"{verb}: {one}"
    assert said["result of what ran"] != "None", said


@pytest.mark.parametrize("fault", ["release throws", "close_stream throws", "free throws"])
def test_a_device_that_fails_to_release_breaks_nothing(fault: str) -> None:
    child = run("plugin_fault", faulty_library(), fault, limit=40.0, EVENTIDE_EXIT_TIMEOUT="0.1").check(0)
    said = json.loads(child.out)
    assert said.pop("result of what ran") == "held"
    assert set(said.values()) <= {"7", "None", "True", "False", "1", "3"}, said


def test_a_completed_marker_stays_complete() -> None:
    with loaded("faulty", "done and then pending") as device:
        check_completed_markers_stay_complete(device)


def test_markers_that_never_complete_time_out_in_every_verb_and_at_exit() -> None:
    child = run("plugin_never_completes", faulty_library(), EVENTIDE_EXIT_TIMEOUT="0.1").check(0)
    said = json.loads(child.out)
    assert said == {"result": "TimeoutError", "event": "TimeoutError", "stream": "TimeoutError", "cpu": "3"}
    assert "1 work item was abandoned at exit" in child.err


def test_times_that_run_backwards_are_returned_unchanged() -> None:
    with loaded("faulty", "times run backwards") as device:
        check_reversed_times(device)


@pytest.mark.parametrize("fault", ["capabilities throws", "now throws"])
def test_a_device_whose_description_fails_is_a_device_error(fault: str) -> None:
    function = fault.split(maxsplit=1)[0]
    words = rf"{function}\(\) of device 'faulty\d+' threw thrown by {function}"
    with pytest.raises(et.DeviceError, match=words), loaded("faulty", fault) as device:
        et.Stream(device)


# Loading and unloading


def test_a_taken_name_is_refused_and_another_one_works() -> None:
    with loaded("first") as first, loaded("second") as second:
        for taken in (first.type, "cpu"):
            with pytest.raises(et.UsageValueError, match=f"'{taken}' is registered already"):
                et.Device.load(example_library(), taken)
        one, two = et.Stream(first), et.Stream(second)
        ran: list[int] = []
        one.submit(ran.append, 1)
        two.wait_stream(one)  # two device types, though one library
        two.submit(ran.append, 2)
        two.close(TIMEOUT)
        one.close(TIMEOUT)
        assert ran == [1, 2]
        del one, two


def test_an_unregistered_device_is_unknown_and_can_be_loaded_again() -> None:
    for _ in range(3):
        device = et.Device.load(example_library(), "again")
        stream = et.Stream("again:1")
        assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        stream.close(TIMEOUT)
        del stream
        unregister(device.type)
        with pytest.raises(et.UsageValueError, match="no device type 'again'"):
            et.Stream("again")


def test_a_device_in_use_is_not_unregistered() -> None:
    with loaded("busy") as device:
        stream, gate = et.Stream(device, name="held"), Gate()
        future = gate.hold(stream, "fine")
        with pytest.raises(et.DeviceError, match=r"'busy\d+' is in use by stream \d+ 'held' \(busy\d+:0\)"):
            unregister(device.type)
        gate.open()
        assert future.result(TIMEOUT) == "fine"
        stream.close(TIMEOUT)
        del stream, future


def test_an_event_outlives_its_device() -> None:
    with loaded("gone") as device:
        stream = et.Stream(device)
        event = stream.record_event()
        event.synchronize(TIMEOUT)
        stream.close(TIMEOUT)
        del stream
    assert event.query()
    event.synchronize(TIMEOUT)


def test_a_device_whose_default_stream_was_used_and_closed_is_unregistered() -> None:
    with loaded("plain") as device:
        assert et.default_stream(device).submit(sum, (1, 2)).result(TIMEOUT) == 3
        et.default_stream(device).close(TIMEOUT)


@pytest.mark.parametrize("name", ["cpu", "unknown"])
def test_a_device_that_was_never_loaded_cannot_be_unregistered(name: str) -> None:
    with pytest.raises(et.UsageValueError, match=f"'{name}'"):
        et.Device.unregister(name)
