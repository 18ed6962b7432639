"""Wrong types, closed streams and what a device does not have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from eventide.errors import StreamError
from eventide.runtime import Event, EventPool, Stream, empty, set_stream, synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, raises


@check("wrong-types")
def wrong_types_are_type_errors_and_change_nothing(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()
    verbs: tuple[Callable[[Any], object], ...] = (
        event.record,
        event.wait,
        event.notify,
        stream.record_event,
        stream.wait_event,
        stream.wait_stream,
        stream.submit,
        set_stream,
        Stream,
        Event,
        EventPool,
        lambda thing: empty(thing, bench.device),
        lambda thing: stream.synchronize(timeout=thing),
        lambda thing: event.synchronize(timeout=thing),
        lambda thing: synchronize(bench.device, timeout=thing),
        lambda thing: Stream(bench.device, priority=thing),
        lambda thing: Stream(bench.device, max_pending=thing),
        lambda thing: Event(bench.device, enable_timing=thing),
    )
    for verb in verbs:
        raises(TypeError, partial(verb, [object()]), f"{getattr(verb, '__name__', verb)} of a list")
    equal(event.version, 0, "the version of an event that was never recorded")
    equal(stream.submit(int, "3").result(bench.timeout), 3, "work of the stream afterwards")


@check("closed-stream")
def every_verb_of_a_closed_stream_is_a_stream_error(bench: Bench) -> None:
    stream, other = bench.streams(2)
    event = bench.done(other)
    stream.close(timeout=bench.timeout)
    verbs: dict[str, Callable[[], object]] = {
        "submit": lambda: stream.submit(int),
        "record_event": stream.record_event,
        "record": lambda: bench.event().record(stream),
        "wait_event": lambda: stream.wait_event(event),
        "wait": lambda: event.wait(stream),
        "wait_stream": lambda: stream.wait_stream(other),
        "query": stream.query,
        "synchronize": lambda: stream.synchronize(timeout=bench.timeout),
    }
    for name, verb in verbs.items():
        raises(StreamError, verb, f"{name} of a closed stream", "closed")


@check("event-options")
def an_event_keeps_the_option_blocking(bench: Bench) -> None:
    equal(Event(bench.device, blocking=True).blocking, True, "blocking as given")


@check("event-device")
def recording_an_event_on_a_stream_of_another_device_type_is_a_value_error(bench: Bench) -> None:
    foreign = bench.stream(bench.another_type())
    event = bench.event()
    raises(ValueError, lambda: event.record(foreign), "a stream of another device type", bench.kind)
    event.record(bench.stream())
    raises(ValueError, lambda: event.record(foreign), "a stream of another device type", bench.kind)
    event.synchronize(timeout=bench.timeout)
