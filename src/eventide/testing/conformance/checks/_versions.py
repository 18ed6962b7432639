"""Versions: a wait is bound to the marker that was the latest when it was called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from eventide.runtime import Stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect
from eventide.testing.conformance._hold import Hold


@check("wait-binds-version")
def a_later_record_does_not_delay_a_wait(bench: Bench) -> None:
    # In other runtimes a waiter on the complete first record blocks on the second.
    stream, other = bench.streams(2)
    event = bench.done(stream)
    other.wait_event(event)
    hold = bench.hold(stream)
    event.record(stream)
    future = other.submit(int, "4")
    equal(future.result(bench.timeout), 4, "work behind a wait for the first record, while the second is pending")
    expect(event.query() is False, "the second record is still pending")
    hold.release()


@check("wait-binds-version")
def a_pending_wait_ends_with_the_record_it_was_made_for(bench: Bench) -> None:
    stream, other = bench.streams(2)
    first = bench.hold(stream)
    event = stream.record_event()
    other.wait_event(event)
    future = other.submit(int, "4")
    second = bench.hold(stream, behind=True)
    event.record(stream)
    first.release()
    equal(future.result(bench.timeout), 4, "work behind a wait for the first record, while the second is pending")
    expect(event.query() is False, "the second record is still pending")
    second.release()


@check("wait-binds-version")
def a_later_record_does_not_release_a_wait(bench: Bench) -> None:
    (stream, idle, other), log = bench.streams(3), list[str]()
    hold = bench.hold(stream)
    stream.submit(log.append, "first")
    event = stream.record_event()
    other.wait_event(event)
    future = other.submit(log.append, "second")
    event.record(idle)
    event.synchronize(timeout=bench.timeout)
    bench.stays(lambda: not future.done(), "a wait for a pending record is not released by a later one that is done")
    hold.release()
    future.result(bench.timeout)
    equal(log, ["first", "second"], "the order over two streams")


@check("query-newest-version")
def query_refers_to_the_newest_record(bench: Bench) -> None:
    # In other runtimes query returns True while the second record is pending.
    def query(way: Callable[[Stream], Hold]) -> None:
        stream, idle = bench.streams(2)
        event = bench.done(stream)
        hold = way(stream)
        event.record(stream)
        bench.stays(lambda: event.query() is False, "query is False while the second record is pending")
        event.record(idle)
        event.synchronize(timeout=bench.timeout)
        expect(event.query() is True, "query is True once the third record is done")
        equal(event.version, 3, "the version after three records")
        hold.release()

    query(bench.hold)
    query(bench.stall)


@check("query-newest-version")
def a_new_marker_is_independent_of_the_markers_before_it(bench: Bench) -> None:
    # A device may reuse the memory of a complete marker, but not its state.
    def use_again(way: Callable[[Stream], Hold]) -> None:
        stream = bench.stream()
        for event in [bench.done(stream) for _ in range(8)]:
            event.record(stream)
            event.synchronize(timeout=bench.timeout)
        hold = way(stream)
        events = [stream.record_event() for _ in range(6)]
        bench.stays(lambda: not any(event.query() for event in events), "new markers behind a hold are pending")
        hold.release()
        for event in events:
            event.synchronize(timeout=bench.timeout)

    use_again(bench.hold)
    use_again(bench.stall)


@check("event-thread-safe")
def an_event_may_be_used_from_several_threads_at_once(bench: Bench) -> None:
    event, streams = bench.event(), bench.streams(3)

    def use(number: int) -> int:
        for _ in range(20):
            event.record(streams[number])
            event.wait(streams[(number + 1) % 3])
            event.query()
            event.synchronize(timeout=bench.timeout)
        return number

    threads = [bench.background(partial(use, number)) for number in range(3)]
    equal([thread.result() for thread in threads], [0, 1, 2], "three threads with one event")
    equal(event.version, 60, "the version after 60 records")
    for stream in streams:
        stream.synchronize(timeout=bench.timeout)
