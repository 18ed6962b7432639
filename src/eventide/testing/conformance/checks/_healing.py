"""Which calls raise an error, how often, and what works again afterwards."""

from __future__ import annotations

from eventide.errors import StreamError
from eventide.runtime import synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import Boom
from eventide.testing.conformance.checks._errors import fail


@check("synchronize-raises-once", "heals")
def synchronize_raises_the_first_error_itself_once_and_heals_the_stream(bench: Bench) -> None:
    stream = bench.stream()
    for text in ("one", "two"):
        error = Boom(text)
        stream.submit(fail, error)
        skipped = stream.submit(int)
        caught = raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "the first synchronize")
        expect(caught is error, "synchronize raises the error itself")
        stream.synchronize(timeout=bench.timeout)
        equal(stream.submit(int, "1").result(bench.timeout), 1, "work of the healed stream")
        expect(isinstance(skipped.exception(bench.timeout), StreamError), "what was skipped stays so")


@check("synchronize-raises-once", "heals")
def a_marker_of_a_healed_stream_is_done(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()
    stream.submit(fail, Boom("first"))
    event.record(stream)
    raises(StreamError, lambda: event.synchronize(timeout=bench.timeout), "the marker behind the failure")
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "the stream")
    event.record(stream)
    event.synchronize(timeout=bench.timeout)


@check("synchronize-raises-once")
def neither_a_timeout_nor_a_future_takes_the_error_away(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("kept")
    hold = bench.hold(stream)
    future = stream.submit(fail, error)
    event = stream.record_event()
    raises(TimeoutError, lambda: stream.synchronize(timeout=0), "synchronize of the stream in no time")
    raises(TimeoutError, lambda: event.synchronize(timeout=0), "synchronize of the event in no time")
    raises(TimeoutError, lambda: synchronize(bench.device, timeout=0), "synchronize of the device in no time")
    hold.release()
    expect(future.exception(bench.timeout) is error, "the Future has the error")
    raises(StreamError, lambda: event.synchronize(timeout=bench.timeout), "the event")
    caught = raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "the stream, after all of these")
    expect(caught is error, "synchronize raises the error itself")


@check("synchronize-raises-once", "concurrent", "heals")
def every_thread_that_waits_for_the_stream_gets_its_error(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("for all")
    hold = bench.hold(stream)
    stream.submit(fail, error)
    waiting = bench.hook_calls("stream_synchronization")
    waiters = [bench.background(lambda: stream.synchronize(timeout=bench.timeout)) for _ in range(3)]
    bench.eventually(lambda: len(waiting) == 3, "three threads synchronize the stream")
    bench.stays(lambda: not any(waiter.ended for waiter in waiters), "all three wait")
    hold.release()
    equal([waiter.error() for waiter in waiters], [error] * 3, "what three waiting threads got")
    stream.synchronize(timeout=bench.timeout)


@check("device-synchronize-raises-one", "heals")
def synchronize_of_the_device_raises_one_error_and_leaves_the_other_streams_as_they_are(bench: Bench) -> None:
    streams = bench.streams(2)
    errors = [Boom("lower id"), Boom("higher id")]
    for stream, error in reversed(list(zip(streams, errors, strict=True))):
        stream.submit(fail, error).exception(bench.timeout)
    caught = raises(Boom, lambda: synchronize(bench.device, timeout=bench.timeout), "synchronize of the device")
    expect(caught is errors[0], "it raises the error of the stream with the lowest id")
    equal(streams[0].submit(int, "1").result(bench.timeout), 1, "work of the stream that raised")
    refusal = streams[1].submit(int).exception(bench.timeout)
    expect(isinstance(refusal, StreamError), "the other stream is still failed")
    caught = raises(Boom, lambda: streams[1].synchronize(timeout=bench.timeout), "the other stream")
    expect(caught is errors[1], "it raises its own error")
    synchronize(bench.device, timeout=bench.timeout)


@check("close-drains")
def close_raises_an_error_that_was_not_raised_before(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("unseen")
    stream.submit(fail, error)
    caught = raises(Boom, lambda: stream.close(timeout=bench.timeout), "close")
    expect(caught is error, "close raises the error itself")
    stream.close(timeout=bench.timeout)
