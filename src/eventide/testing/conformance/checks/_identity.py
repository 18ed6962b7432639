"""Identity, and events that were never recorded."""

from __future__ import annotations

import pickle
import weakref
from functools import partial
from typing import Any

from eventide.runtime import Event, Stream, default_stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises


@check("event-identity")
def an_event_shows_the_id_0_until_its_first_record_and_then_keeps_its_id(bench: Bench) -> None:
    stream, other = bench.streams(2)
    event = bench.event()
    equal(event.event_id, 0, "the id before the first record")
    event.record(stream)
    first = event.event_id
    expect(first > 0, "a recorded event has an id")
    event.record(stream)
    event.record(other)
    equal(event.event_id, first, "the id after two more records")


@check("event-identity")
def ids_of_events_are_unique(bench: Bench) -> None:
    stream, pool = bench.stream(), bench.pool()
    events = [bench.event() for _ in range(10)] + [pool.acquire() for _ in range(10)]
    for event in events:
        event.record(stream)
    events += [stream.record_event() for _ in range(10)]
    equal(len({event.event_id for event in events}), 30, "different ids of 30 events")


@check("event-identity")
def an_event_shows_no_device_index_until_its_first_record_unless_it_was_given(bench: Bench) -> None:
    stream = bench.stream()
    event, given, anywhere = Event(bench.kind), Event(bench.device), Event()
    equal((event.device.type, event.device.index), (bench.kind, None), "the device before the first record")
    equal(given.device.index, stream.device_index, "the index that was given")
    for one in (event, anywhere):
        one.record(stream)
        equal((one.device, one.device.index), (stream.device, stream.device_index), "the device of a recorded event")


@check("stream-identity")
def ids_of_streams_are_unique_and_never_given_twice(bench: Bench) -> None:
    # In other runtimes the 33rd stream is the first one again.
    streams = bench.streams(36)
    default = default_stream(bench.device)
    numbers = {default.stream_id, *(stream.stream_id for stream in streams)}
    for stream in streams[:5]:
        stream.close(timeout=bench.timeout)
    numbers |= {stream.stream_id for stream in bench.streams(5)}
    equal(len(numbers), 42, "different ids of 42 streams")
    equal(default_stream(bench.device), default, "the default stream, requested again")


@check("stream-identity")
def every_stream_is_its_own_queue(bench: Bench) -> None:
    held, *others = bench.streams(36)
    hold = bench.hold(held)
    behind = held.submit(int)
    for other in others:
        equal(other.submit(int, "7").result(bench.timeout), 7, "work beside a held stream")
    expect(not behind.done(), "work behind a hold is pending while other streams run")
    hold.release()
    equal(behind.result(bench.timeout), 0, "work behind the hold")


@check("stream-identity")
def streams_compare_by_device_and_id_and_with_nothing_else(bench: Bench) -> None:
    stream, other = bench.streams(2)
    same = default_stream(bench.device)
    expect(stream in (other, stream) and stream != other, "a stream equals itself alone")
    equal(hash(same), hash(default_stream(bench.device)), "the hash of one stream")
    things: tuple[Any, ...] = (5, None, "stream", stream.stream_id, object(), bench.event())
    for thing in things:
        expect((stream == thing) is False and (stream != thing) is True, f"a stream is not equal to {thing!r}")


@check("event-identity")
def events_compare_by_identity_and_their_hash_survives_a_record(bench: Bench) -> None:
    stream = bench.stream()
    first, second = bench.event(), bench.event()
    held = {first, second}
    first.record(stream)
    second.record(stream)
    expect(first in held and first != second and len(held) == 2, "two events are two, before and after a record")


@check("object-protocols")
def streams_and_events_take_weak_references_and_subclasses(bench: Bench) -> None:
    class Lane(Stream):
        note = ""

    class Mark(Event):
        note = ""

    lane, mark = Lane(bench.device), Mark(bench.device)
    lane.note = mark.note = "mine"
    expect(lane.record_event(mark) is mark, "record_event returns the event it was given")
    expect(weakref.ref(lane)() is lane and weakref.ref(mark)() is mark, "weak references")
    mark.synchronize(timeout=bench.timeout)
    lane.close(timeout=bench.timeout)


@check("object-protocols")
def pickling_a_stream_or_an_event_is_a_type_error(bench: Bench) -> None:
    stream = bench.stream()
    for thing in (stream, bench.event(), stream.record_event()):
        raises(TypeError, partial(pickle.dumps, thing), "pickling", "process")


@check("stream-identity")
def a_stream_has_its_device_and_its_priority(bench: Bench) -> None:
    stream = bench.stream(priority=-1, name="copies")
    equal((stream.device, stream.device_type), (bench.where, bench.kind), "the device of a stream")
    equal(stream.device_index, bench.where.index, "the index of its device")
    equal(stream.priority, -1, "the priority as given")
    expect(isinstance(stream.native_handle, int), "the native handle is a number")
    expect("copies" in repr(stream) and str(stream.stream_id) in repr(stream), "repr names the stream")


@check("never-recorded")
def a_never_recorded_event_is_done_and_holds_no_stream(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()
    expect(event.query() is True, "query of a never recorded event is True")
    event.synchronize(timeout=0)
    event.wait(stream)
    stream.wait_event(event)
    equal(stream.submit(int, "3").result(bench.timeout), 3, "work behind a wait for a never recorded event")
    equal(event.version, 0, "the version of a never recorded event")


@check("never-recorded", "timing")
def elapsed_time_of_a_never_recorded_event_is_a_value_error(bench: Bench) -> None:
    stream, never = bench.stream(), bench.event(enable_timing=True)
    done = bench.done(stream, enable_timing=True)
    raises(ValueError, lambda: never.elapsed_time(done), "start was never recorded", "recorded")
    raises(ValueError, lambda: done.elapsed_time(never), "end was never recorded", "recorded")
    raises(ValueError, lambda: never.completed_at, "completed_at of a never recorded event", "recorded")
