"""Objects that exist: streams by their id, events that are reset; and the flags that torch's events have."""

from __future__ import annotations

from functools import partial

from eventide.errors import UsageTypeError, UsageValueError
from eventide.runtime import Event, Stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises

UNKNOWN = 2**40


@check("stream-by-id")
def a_stream_is_found_by_its_id(bench: Bench) -> None:
    stream = bench.stream(name="found")
    where = (stream.stream_id, stream.device_index, stream.device_type)
    number, index, kind = where
    expect(Stream(stream_id=number) is stream, "the same object")
    expect(Stream(stream_id=number, device_index=index, device_type=kind) is stream, "as torch.Stream is called")
    expect(Stream(bench.where, stream_id=number) is stream, "with its device")
    equal(stream.submit(int, "3").result(bench.timeout), 3, "work afterwards")


@check("stream-by-id")
def what_is_not_true_of_a_stream_is_an_error(bench: Bench) -> None:
    stream = bench.stream()
    number = stream.stream_id
    for unknown in (0, -1, UNKNOWN, 2**70):
        raises(UsageValueError, partial(Stream, stream_id=unknown), "an id that no stream has", str(unknown))
    other = "sim" if bench.kind == "cpu" else "cpu"
    raises(UsageValueError, lambda: Stream(other, stream_id=number), "another device", "is not on")
    raises(UsageTypeError, lambda: Stream(stream_id=number, name="x"), "an option of a new stream", "name")
    raises(UsageTypeError, lambda: Stream(bench.where, device_index=0), "a device in two forms", "one")


@check("priority-range")
def a_priority_that_the_device_does_not_have_is_a_value_error(bench: Bench) -> None:
    for priority in (2**31, -(2**40)):
        raises(UsageValueError, partial(Stream, bench.device, priority), "a priority out of range", str(priority))


@check("event-flags")
def the_flags_of_torchs_events_are_accepted_without_effect(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()
    for needs_lock in (True, False):
        for sync_event in (True, False):
            event.record(stream, needs_lock, sync_event)
            event.wait(stream, needs_lock=needs_lock, sync_event=sync_event)
    event.wait_for_cpu_sync(timeout=bench.timeout)
    equal((event.query(), event.version), (True, 4), "the event afterwards")
    bad = partial(event.record, stream, sync_event="yes")  # type: ignore[arg-type]
    raises(UsageTypeError, bad, "a flag of a wrong type", "sync_event")


@check("event-reset")
def a_reset_event_is_as_a_new_one_with_its_id(bench: Bench) -> None:
    (stream, other), event = bench.streams(2), bench.event()
    hold = bench.hold(stream)
    event.record(stream)
    number = event.event_id
    other.wait_event(event)
    behind = other.submit(int, "4")
    event.reset()
    equal((event.event_id, event.version, event.query()), (0, 0, True), "a reset event")
    bench.stays(lambda: bench.virtual or not behind.done(), "what waits for its last record waits on")
    hold.release()
    equal(behind.result(bench.timeout), 4, "work behind the wait")
    event.record(other)
    equal((event.event_id, event.version), (number, 1), "its id and version after the next record")
    event.synchronize(timeout=bench.timeout)


@check("event-reset", "timing")
def a_reset_event_has_the_timing_and_the_stream_that_are_given(bench: Bench) -> None:
    stream, event = bench.stream(), Event(bench.device)
    event.reset(stream, enable_timing=True)
    event.record()  # on that stream, whatever is current
    event.synchronize(timeout=bench.timeout)
    expect(event.enable_timing and event.completed_at > 0, "it has a time")
    event.reset()
    expect(not event.enable_timing, "and no timing after the next reset")
