"""Identity: ids of events and streams, equality, hash, weak references, subclasses, pickling."""

import copy
import pickle
import weakref

import pytest

import eventide as et
from tests.helpers import TIMEOUT, hook_calls


def test_event_id_shows_zero_until_the_first_record(stream):
    event = et.Event("cpu")
    assert event.event_id == 0
    event.record(stream)
    assert event.event_id > 0


def test_event_id_is_kept_over_every_record_and_stream(stream, other):
    event = et.Event("cpu")
    event.record(stream)
    first = event.event_id
    event.record(stream)
    event.record(other)
    assert event.event_id == first


def test_event_ids_are_unique_in_the_process(stream, pool):
    events = [et.Event("cpu") for _ in range(20)] + [pool.acquire() for _ in range(20)]
    for event in events:
        event.record(stream)
    events += [stream.record_event() for _ in range(20)]
    assert len({event.event_id for event in events}) == 60


def test_creation_record_and_wait_callbacks_carry_the_id_that_the_event_shows(stream):
    event = et.Event("cpu")
    with (
        hook_calls("event_creation") as created,
        hook_calls("event_record") as recorded,
        hook_calls("event_wait") as waited,
    ):
        event.record(stream)
        event.wait(stream)
    assert created == [(event.event_id,)]
    assert recorded == [(event.event_id, stream.stream_id)]
    assert waited == [(event.event_id, stream.stream_id)]


def test_creation_fires_at_the_first_record_and_only_there(stream):
    with hook_calls("event_creation") as created:
        event = et.Event("cpu")
        assert created == []
        event.record(stream)
        event.record(stream)
    assert created == [(event.event_id,)]


def test_an_event_made_by_record_event_has_an_id_at_once_and_its_own(stream):
    first, second = stream.record_event(), stream.record_event()
    assert 0 not in {first.event_id, second.event_id}
    assert first.event_id != second.event_id


def test_device_index_of_an_event_is_none_until_the_first_record(stream):
    event = et.Event("cpu")
    assert (event.device.type, event.device.index) == ("cpu", None)
    event.record(stream)
    assert (event.device.type, event.device.index) == ("cpu", 0)


def test_device_index_that_was_given_shows_at_once():
    assert et.Event("cpu:0").device.index == 0
    assert et.Event(et.Device("cpu", 0)).device.index == 0


def test_an_event_without_a_device_takes_that_of_its_first_record(stream):
    event = et.Event()
    event.record(stream)
    assert event.device == stream.device
    assert event.device.index == 0


def test_every_stream_is_its_own_queue_and_none_is_reused(make_stream):
    streams = [make_stream() for _ in range(40)]
    assert len({stream.stream_id for stream in streams}) == 40
    assert len(set(streams)) == 40


def test_creating_one_stream_fires_one_creation(make_stream):
    with hook_calls("stream_creation") as created:
        stream = make_stream()
    assert created == [(stream.stream_id,)]


def test_a_held_stream_does_not_hold_another(stream, other, gate):
    gate.hold(stream)
    assert other.submit(int, "7").result(TIMEOUT) == 7


def test_the_default_stream_has_an_id_that_no_other_stream_has(make_stream):
    default = et.default_stream("cpu")
    assert default == et.default_stream("cpu")
    assert default.stream_id == et.default_stream(et.Device("cpu")).stream_id
    assert default.stream_id not in {make_stream().stream_id for _ in range(5)}


def test_stream_ids_are_not_given_twice_even_after_a_close(make_stream):
    seen = set()
    for _ in range(10):
        stream = make_stream()
        seen.add(stream.stream_id)
        stream.close(timeout=TIMEOUT)
    assert len(seen) == 10


def test_a_stream_equals_itself_and_no_other_stream(stream, other):
    same = et.default_stream("cpu")
    assert stream == stream  # noqa: PLR0124
    assert stream != other
    assert same == et.default_stream("cpu")
    assert hash(same) == hash(et.default_stream("cpu"))
    assert {stream: 1, other: 2}[stream] == 1


@pytest.mark.parametrize(
    "thing", [5, None, "cpu", 0.5, object(), (), b"stream"], ids=lambda value: type(value).__name__
)
def test_comparing_a_stream_with_anything_else_is_false(stream, thing):
    assert (stream == thing) is False
    assert (stream != thing) is True
    assert (thing == stream) is False


def test_a_stream_does_not_equal_its_own_id_or_an_event(stream):
    assert stream != stream.stream_id
    assert stream != stream.record_event()
    assert stream not in [stream.stream_id, None]


def test_streams_have_no_order(stream, other):
    with pytest.raises(TypeError):
        stream < other


def test_events_compare_by_identity(stream):
    first, second = et.Event("cpu"), et.Event("cpu")
    first.record(stream)
    second.record(stream)
    assert first == first  # noqa: PLR0124
    assert first != second
    assert first != first.event_id
    assert len({first, second, first}) == 2


def test_the_hash_of_an_event_survives_its_first_record(stream):
    event = et.Event("cpu")
    held = {event}
    event.record(stream)
    assert event in held


def test_streams_and_events_take_weak_references(stream):
    event = et.Event("cpu")
    assert weakref.ref(event)() is event
    assert weakref.ref(stream)() is stream
    assert weakref.WeakSet([stream, event])


def test_streams_and_events_can_be_subclassed_with_attributes_of_their_own():
    class Lane(et.Stream):
        def __init__(self, lane: str) -> None:
            super().__init__("cpu", name=lane)
            self.lane = lane

    class Mark(et.Event):
        def __init__(self, note: str) -> None:
            super().__init__("cpu", enable_timing=True)
            self.note = note

    lane, mark = Lane("left"), Mark("here")
    try:
        assert lane.record_event(mark) is mark
        assert (lane.lane, mark.note) == ("left", "here")
        assert lane.submit(et.current_stream).result(TIMEOUT) == lane
        mark.synchronize(timeout=TIMEOUT)
    finally:
        lane.close(timeout=TIMEOUT)


@pytest.mark.parametrize("dump", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_a_stream_or_an_event_is_a_type_error_that_says_why(stream, dump):
    for thing, kind in ((stream, "Stream"), (stream.record_event(), "Event"), (et.Event("cpu"), "Event")):
        with pytest.raises(TypeError, match=rf"(?i){kind}.*(process|device|queue)"):
            dump(thing)


def test_a_stream_names_its_device_priority_and_handle(make_stream):
    stream = make_stream("cpu:0", priority=-1, name="copies")
    assert (stream.device, stream.device_type, stream.device_index) == (et.Device("cpu", 0), "cpu", 0)
    assert stream.priority == -1
    assert isinstance(stream.native_handle, int)
    assert "copies" in repr(stream)
    assert str(stream.stream_id) in repr(stream)
