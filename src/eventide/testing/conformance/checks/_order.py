"""Order: what a stream, a marker and a wait promise."""

from __future__ import annotations

from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect


@check("order-within-stream")
def work_of_one_stream_runs_in_the_order_of_submission(bench: Bench) -> None:
    stream, log = bench.stream(), list[int]()
    hold = bench.hold(stream)
    for number in range(50):
        stream.submit(log.append, number)
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    equal(log, list(range(50)), "the order in which work ran")


@check("runs-exactly-once")
def every_work_runs_exactly_once(bench: Bench) -> None:
    log = list[int]()
    streams = bench.streams(3)
    futures = [streams[number % 3].submit(log.append, number) for number in range(99)]
    for future in futures:
        equal(future.result(bench.timeout), None, "the value of the work")
    for stream in streams:
        stream.synchronize(timeout=bench.timeout)
    equal(sorted(log), list(range(99)), "what ran, sorted")


@check("order-within-stream")
def query_is_false_until_the_work_before_the_marker_is_over(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    event = stream.record_event()
    bench.stays(lambda: event.query() is False, "query is False while work before the marker is pending")
    bench.stays(lambda: stream.query() is False, "a stream is not idle while work is pending")
    hold.release()
    event.synchronize(timeout=bench.timeout)
    expect(event.query() is True, "query is True after synchronize")
    bench.eventually(stream.query, "the stream is idle")


@check("wait-orders-streams")
def a_marker_behind_a_wait_is_pending_while_the_event_is(bench: Bench) -> None:
    # With no work in between: the marker itself has to wait.
    stream = bench.stream()
    hold = bench.stall(stream)
    event = stream.record_event()
    bench.stays(lambda: event.query() is False, "a marker behind a wait is pending while the event is")
    bench.stays(lambda: stream.query() is False, "a stream that waits is not idle")
    hold.release()
    event.synchronize(timeout=bench.timeout)
    stream.synchronize(timeout=bench.timeout)


@check("order-within-stream")
def a_marker_is_passed_after_the_work_before_it(bench: Bench) -> None:
    stream, log = bench.stream(), list[int]()
    for count in range(1, 21):
        hold = bench.hold(stream)
        stream.submit(log.append, count)
        event = stream.record_event()
        hold.release()
        event.synchronize(timeout=bench.timeout)
        equal(len(log), count, "work that ran before the marker was passed")


@check("order-within-stream")
def a_stream_is_not_idle_while_its_last_work_runs(bench: Bench) -> None:
    # In other runtimes a stream is idle as soon as its queue is empty.
    stream = bench.stream()
    hold = bench.hold(stream)  # nothing is queued behind it
    bench.stays(lambda: stream.query() is False, "a stream whose last work runs is not idle")
    event = stream.record_event()
    bench.stays(lambda: event.query() is False, "a marker recorded while the last work runs is pending")
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    expect(event.query() and stream.query(), "idle after synchronize")


@check("wait-orders-streams")
def a_stream_that_waits_runs_later_work_after_the_event(bench: Bench) -> None:
    (stream, other), log = bench.streams(2), list[str]()
    hold = bench.hold(stream)
    stream.submit(log.append, "first")
    event = stream.record_event()
    other.wait_event(event)
    future = other.submit(log.append, "second")
    ran = [] if bench.capabilities.deferred else ["first", "second"]  # an immediate device runs the function at once
    bench.stays(lambda: not future.done() and log == ran, "work behind a wait is pending while the event is")
    hold.release()
    future.result(bench.timeout)
    equal(log, ["first", "second"], "the order over two streams")


@check("wait-orders-streams")
def a_wait_orders_nothing_that_was_queued_before_it(bench: Bench) -> None:
    stream, other = bench.streams(2)
    hold = bench.hold(stream)
    before = other.submit(int, "1")
    other.wait_event(stream.record_event())
    equal(before.result(bench.timeout), 1, "work queued before the wait")
    hold.release()


@check("wait-orders-streams")
def every_stream_that_waits_for_an_event_is_released(bench: Bench) -> None:
    stream, *others = bench.streams(5)
    hold = bench.hold(stream)
    event = stream.record_event()
    futures = []
    for other in others:
        other.wait_event(event)
        futures.append(other.submit(int, "5"))
    hold.release()
    equal([future.result(bench.timeout) for future in futures], [5] * 4, "work of four streams that waited")


@check("wait-orders-streams")
def wait_stream_waits_for_all_that_is_queued_there_now(bench: Bench) -> None:
    (stream, other, third), log = bench.streams(3), list[int]()
    hold = bench.hold(stream)
    for number in range(3):
        stream.submit(log.append, number)
    other.wait_stream(stream)
    other.submit(log.append, 3)
    third.wait_stream(other)
    last = third.submit(log.append, 4)
    hold.release()
    last.result(bench.timeout)
    equal(log, [0, 1, 2, 3, 4], "the order over a chain of three streams")
