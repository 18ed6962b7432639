"""Wrong types are TypeErrors at the call, never a crash, and leave everything as it was."""

import pytest

import eventide as et
from tests.helpers import TIMEOUT, hook_calls

THINGS = {"None": None, "int": 5, "negative": -1, "str": "x", "bytes": b"x", "list": [], "object": object()}

WANTS_EVENT = {
    "wait_event": lambda stream, thing: stream.wait_event(thing),
    "elapsed_time": lambda stream, thing: et.Event("cpu").elapsed_time(thing),
}
WANTS_STREAM = {
    "wait_stream": lambda stream, thing: stream.wait_stream(thing),
    "set_stream": lambda stream, thing: et.set_stream(thing),
}
WANTS_STREAM_OR_NONE = {
    "record": lambda stream, thing: et.Event("cpu").record(thing),
    "wait": lambda stream, thing: stream.record_event().wait(thing),
    "acquire": lambda stream, thing: et.EventPool("cpu").acquire(stream=thing),
}


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("call", WANTS_EVENT)
def test_a_verb_that_requires_an_event_refuses_other_types(stream, call, thing):
    with pytest.raises(et.UsageTypeError):
        WANTS_EVENT[call](stream, THINGS[thing])
    with pytest.raises(et.UsageTypeError):
        WANTS_EVENT[call](stream, stream)


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("call", WANTS_STREAM)
def test_a_verb_that_requires_a_stream_refuses_other_types(stream, call, thing):
    with pytest.raises(et.UsageTypeError):
        WANTS_STREAM[call](stream, THINGS[thing])
    with pytest.raises(et.UsageTypeError):
        WANTS_STREAM[call](stream, et.Event("cpu"))


@pytest.mark.parametrize("thing", [thing for thing in THINGS if thing != "None"])
@pytest.mark.parametrize("call", WANTS_STREAM_OR_NONE)
def test_a_verb_with_an_optional_stream_refuses_other_types(stream, call, thing):
    with pytest.raises(et.UsageTypeError):
        WANTS_STREAM_OR_NONE[call](stream, THINGS[thing])
    with pytest.raises(et.UsageTypeError):
        WANTS_STREAM_OR_NONE[call](stream, et.Event("cpu"))


@pytest.mark.parametrize("thing", [5, "x", []], ids=repr)
def test_record_event_takes_an_event_or_none(stream, thing):
    with pytest.raises(et.UsageTypeError):
        stream.record_event(thing)


@pytest.mark.parametrize("kind", ["Stream", "Event", "EventPool"])
@pytest.mark.parametrize("device", [5, 1.5, b"cpu", [], object()], ids=["int", "float", "bytes", "list", "object"])
def test_a_device_is_a_name_a_device_or_none(kind, device):
    with pytest.raises(TypeError):
        getattr(et, kind)(device)


@pytest.mark.parametrize("priority", ["high", 0.5, None], ids=repr)
def test_a_priority_is_an_integer(priority):
    with pytest.raises(TypeError):
        et.Stream("cpu", priority=priority)


def test_arguments_that_do_not_exist_are_type_errors(stream):
    with pytest.raises(TypeError):
        et.Stream("cpu", colour="red")
    with pytest.raises(TypeError):
        et.Event("cpu", timing=True)
    with pytest.raises(TypeError):
        stream.synchronize(10, 20)
    with pytest.raises(TypeError):
        stream.submit()


def test_a_refused_call_fires_no_hook_and_changes_nothing(stream):
    event = stream.record_event()
    with (
        hook_calls("event_record") as recorded,
        hook_calls("event_wait") as waited,
        hook_calls("work_submission") as submitted,
    ):
        for call in (
            lambda: event.record(5),
            lambda: event.wait(5),
            lambda: stream.wait_event(5),
            lambda: stream.submit(5),
        ):
            with pytest.raises(TypeError):
                call()
    assert (recorded, waited, submitted) == ([], [], [])
    assert event.version == 1
    stream.synchronize(timeout=TIMEOUT)


def test_an_event_whose_record_failed_has_no_visible_id(make_stream):
    stream = make_stream()
    stream.close(timeout=TIMEOUT)
    event = et.Event("cpu")
    with hook_calls("event_creation") as created, pytest.raises(et.StreamError):
        event.record(stream)
    assert (event.event_id, event.version, created) == (0, 0, [])


def test_blocking_events_work_like_others(stream, gate):
    event = et.Event("cpu", blocking=True)
    gate.hold(stream)
    event.record(stream)
    assert event.query() is False
    gate.open()
    event.synchronize(timeout=TIMEOUT)
    assert event.query() is True
