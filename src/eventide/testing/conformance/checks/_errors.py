"""Errors in work: never lost, and raised to everything that depends on it."""

from __future__ import annotations

from eventide.errors import StreamError
from eventide.runtime import Event, Stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises, root_cause
from eventide.testing.conformance._tools import Boom, boom


def fail(error: BaseException) -> None:
    """Work that raises this very error."""
    raise error


def failed_marker(bench: Bench, stream: Stream, error: Boom) -> Event:
    """A marker behind work that raised, complete."""
    stream.submit(fail, error)
    event = stream.record_event()
    bench.eventually(event.query, "the marker behind the failure is complete")
    return event


@check("error-stops-stream")
def an_exception_in_work_kills_nothing(bench: Bench) -> None:
    # In other runtimes it ends the process, or the worker.
    stream, other = bench.streams(2)
    for kind in (Boom, StopIteration, SystemExit, GeneratorExit, MemoryError):
        error = kind("from work")
        future = stream.submit(fail, error)
        expect(future.exception(bench.timeout) is error, f"the Future carries the {kind.__name__} itself")
        equal(other.submit(int, "5").result(bench.timeout), 5, "work of another stream")
        behind = stream.submit(int)
        expect(behind.exception(bench.timeout) is not None, "work behind the failure ends as well, with an error")
        stream = bench.stream()


@check("error-stops-stream", "deferred")
def work_behind_a_failure_is_not_run_and_says_why(bench: Bench) -> None:
    stream, log, error = bench.stream(), list[int](), Boom("first")
    hold = bench.hold(stream)
    stream.submit(fail, error)
    futures = [stream.submit(log.append, number) for number in range(3)]
    hold.release()
    for future in futures:
        refusal = future.exception(bench.timeout)
        expect(isinstance(refusal, StreamError), f"skipped work fails with StreamError, not {refusal!r}")
        expect(refusal is not None and refusal.__cause__ is error, "its cause is the first error")
    equal(log, [], "what ran behind the failure")
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "synchronize after the failure")


@check("error-stops-stream")
def work_submitted_to_a_failed_stream_fails_with_the_first_error_as_cause(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("first")
    stream.submit(fail, error).exception(bench.timeout)
    for _ in range(2):
        refusal = stream.submit(int).exception(bench.timeout)
        expect(isinstance(refusal, StreamError) and refusal.__cause__ is error, f"a refusal, not {refusal!r}")


@check("failed-marker")
def a_marker_before_the_failure_is_done_and_one_behind_it_failed(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("between")
    hold = bench.hold(stream)
    before = stream.record_event()
    stream.submit(fail, error)
    behind = stream.record_event()
    hold.release()
    before.synchronize(timeout=bench.timeout)
    refusal = raises(StreamError, lambda: behind.synchronize(timeout=bench.timeout), "synchronize of a failed marker")
    expect(refusal.__cause__ is error, "its cause is the first error")
    expect(before.query() and behind.query(), "both are complete")


@check("failed-marker")
def a_failed_marker_is_over_and_stays_failed_for_ever(bench: Bench) -> None:
    stream, error = bench.stream(), Boom("forever")
    event = failed_marker(bench, stream, error)
    expect(event.query() is True, "nothing is left to wait for")
    for _ in range(2):
        refusal = raises(StreamError, lambda: event.synchronize(timeout=bench.timeout), "each synchronize")
        expect(refusal.__cause__ is error, "its cause is the first error")
    calls = list[Event]()
    event.notify(calls.append)
    bench.eventually(lambda: calls == [event], "notify of a failed marker")
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "synchronize of the stream")
    raises(StreamError, lambda: event.synchronize(timeout=bench.timeout), "the marker, after its stream raised")


@check("failed-marker")
def notify_of_a_pending_marker_fires_when_it_fails(bench: Bench) -> None:
    stream, calls = bench.stream(), list[Event]()
    hold = bench.hold(stream)
    stream.submit(boom)
    event = stream.record_event()
    event.notify(calls.append)
    hold.release()
    bench.eventually(lambda: event.query() and calls == [event], "the notification of a failed marker")


@check("error-follows-waits")
def a_stream_that_waits_for_a_failed_marker_fails(bench: Bench) -> None:
    (stream, other), log, error = bench.streams(2), list[int](), Boom("travels")
    hold = bench.hold(stream)
    stream.submit(fail, error)
    other.wait_event(stream.record_event())
    skipped = other.submit(log.append, 1)
    hold.release()
    refusal = skipped.exception(bench.timeout)
    expect(isinstance(refusal, StreamError), f"work behind the wait fails with StreamError, not {refusal!r}")
    expect(root_cause(refusal) is error, "the first cause is the error of the other stream")
    equal(log, [], "what ran behind the wait")


@check("error-follows-waits")
def a_failed_marker_fails_a_stream_that_waits_for_it_later(bench: Bench) -> None:
    (stream, other), error = bench.streams(2), Boom("late")
    event = failed_marker(bench, stream, error)
    other.wait_event(event)
    refusal = other.submit(int).exception(bench.timeout)
    expect(root_cause(refusal) is error, f"work behind a wait for a failed marker has its error, not {refusal!r}")


@check("error-follows-waits")
def a_marker_behind_a_wait_for_a_failed_marker_fails_as_well(bench: Bench) -> None:
    (stream, other, third), error = bench.streams(3), Boom("further")
    hold = bench.hold(stream)
    stream.submit(fail, error)
    other.wait_stream(stream)
    third.wait_stream(other)  # no work in between
    event = third.record_event()
    hold.release()
    refusal = raises(StreamError, lambda: event.synchronize(timeout=bench.timeout), "a marker behind two waits")
    expect(root_cause(refusal) is error, "the first cause is the error of the first stream")


@check("error-follows-waits")
def a_stream_that_does_not_wait_is_untouched(bench: Bench) -> None:
    stream, other = bench.streams(2)
    stream.submit(boom).exception(bench.timeout)
    equal(other.submit(int, "6").result(bench.timeout), 6, "work of another stream")
    other.synchronize(timeout=bench.timeout)


@check("failed-marker")
def a_failed_stream_has_nothing_left_to_wait_for(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    stream.submit(boom)
    futures = [stream.submit(int) for _ in range(3)]
    hold.release()
    bench.eventually(stream.query, "the failed stream is idle")
    expect(all(future.done() for future in futures), "every Future of it is done")
    equal(stream.pending, 0, "work that is pending")
