"""Pools: reused events behave like new ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from eventide import hooks
from eventide.errors import EventError
from eventide.runtime import EventPool, PoolStats, Stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._hold import Hold

UNKNOWN = 2**40


@check("pool-reuse")
def the_event_that_came_back_last_goes_out_first_with_its_id(bench: Bench) -> None:
    stream, pool = bench.stream(), bench.pool()
    events = [pool.acquire() for _ in range(3)]
    for event in events:
        event.record(stream)
        event.synchronize(timeout=bench.timeout)
    numbers = [event.event_id for event in events]
    for index in (1, 0, 2):
        pool.release(events[index])
    again = [pool.acquire() for _ in range(3)]
    for event in again:
        equal((event.event_id, event.version, event.query()), (0, 0, True), "a reused event before its first record")
        event.record(stream)
    equal([event.event_id for event in again], [numbers[2], numbers[0], numbers[1]], "ids in the order of reuse")
    equal(pool.stats(), PoolStats(created=3, in_use=3, cached=0, reused=3), "what the pool counted")


@check("pool-reuse")
def an_event_released_while_pending_is_as_good_as_new(bench: Bench) -> None:
    # In other runtimes it returns the state of, or waits for, its previous record.
    (stream, other), pool = bench.streams(2), bench.pool()
    event = pool.acquire()
    hold = bench.hold(stream)
    event.record(stream)
    expect(event.query() is False, "it is pending")
    pool.release(event)
    again = pool.acquire()
    equal(pool.stats().reused, 1, "events that were used again")
    expect(again.query() is True, "unrecorded, it is done")
    again.synchronize(timeout=0)
    other.wait_event(again)
    equal(other.submit(int, "2").result(bench.timeout), 2, "work behind a wait for it")
    again.record(other)
    again.synchronize(timeout=bench.timeout)
    hold.release()


@check("pool-reuse")
def a_reused_event_waits_for_its_own_record(bench: Bench) -> None:
    # Other runtimes do not reset a pooled event on the same stream.
    stream, pool = bench.stream(), bench.pool()

    def use_again(way: Callable[[Stream], Hold]) -> None:
        event = pool.acquire()
        event.record(stream)
        event.synchronize(timeout=bench.timeout)
        del event
        again = pool.acquire()
        hold = way(stream)
        again.record(stream)
        bench.stays(lambda: again.query() is False, "its own record is pending")
        hold.release()
        again.synchronize(timeout=bench.timeout)

    for way in (bench.hold, bench.stall, bench.hold, bench.stall):
        use_again(way)
    equal(pool.stats().created, 1, "events the pool made")


@check("pool-default-stream")
def events_of_a_pool_with_a_stream_are_recorded_and_waited_for_there(bench: Bench) -> None:
    stream, other = bench.streams(2)
    pool = EventPool(stream)
    equal((pool.default_stream, pool.acquire().device.type), (stream, bench.kind), "the stream and device of the pool")
    with hooks.observe(recorded := _Streams()):
        event, number = pool.acquire(), pool.acquire_id()
        event.record()
        event.wait()
        pool.record(number)
        pool.wait(number)
        pool.record(number, other)
        pool.acquire(stream=other).record()
    mine, theirs = stream.stream_id, other.stream_id
    equal(recorded.streams, [mine, mine, mine, mine, theirs, theirs], "the streams of records and waits")
    for each in (event, stream, other):
        each.synchronize(timeout=bench.timeout)


class _Streams(hooks.Observer):
    """The streams of records and waits, in order."""

    def __init__(self) -> None:
        self.streams = list[int]()

    def event_record(self, record: hooks.HookRecord) -> None:
        self.streams.append(record.stream)

    def event_wait(self, record: hooks.HookRecord) -> None:
        self.streams.append(record.stream)


@check("pool-by-id")
def every_verb_takes_an_id(bench: Bench) -> None:
    (stream, other), pool, log = bench.streams(2), bench.pool(), list[str]()
    number = pool.acquire_id()
    hold = bench.hold(stream)
    stream.submit(log.append, "first")
    pool.record(number, stream)
    expect(pool.query(number) is False, "pending, queried by id")
    pool.wait(number, other)
    future = other.submit(log.append, "second")
    raises(TimeoutError, lambda: pool.synchronize(number, timeout=0), "synchronize by id")
    hold.release()
    pool.synchronize(number, timeout=bench.timeout)
    future.result(bench.timeout)
    equal(log, ["first", "second"], "the order over two streams")
    pool.release(number)
    equal(pool.acquire_id(), number, "the id that is acquired next")


@check("pool-by-id", "timing")
def times_are_taken_by_id_as_well(bench: Bench) -> None:
    stream, pool = bench.stream(), bench.pool()
    start, end = pool.acquire_id(enable_timing=True), pool.acquire_id(enable_timing=True)
    for number in (start, end):
        pool.record(number, stream)
    pool.synchronize(end, timeout=bench.timeout)
    expect(pool.elapsed_time(start, end) >= 0, "milliseconds between two ids")


@check("pool-by-id")
def an_unknown_id_is_an_event_error_and_leaves_the_pool_usable_from_every_thread(bench: Bench) -> None:
    # Other runtimes raise the error with the pool's lock held.
    pool, together = bench.pool(), threading.Barrier(3)

    def use(stream: Stream) -> int:
        together.wait(bench.timeout)
        for _ in range(5):
            for verb in _verbs(pool, stream, bench.timeout):
                raises(EventError, verb, "an unknown id", str(UNKNOWN))
            number = pool.acquire_id()
            pool.record(number, stream)
            pool.synchronize(number, timeout=bench.timeout)
            pool.release(number)
        return 1

    threads = [bench.background(partial(use, stream)) for stream in bench.streams(3)]
    equal([thread.result() for thread in threads], [1, 1, 1], "three threads at once")
    equal(pool.stats().in_use, 0, "events in use afterwards")


def _verbs(pool: EventPool, stream: Stream, timeout: float) -> tuple[Callable[[], object], ...]:
    return (
        lambda: pool.record(UNKNOWN, stream),
        lambda: pool.wait(UNKNOWN, stream),
        lambda: pool.query(UNKNOWN),
        lambda: pool.synchronize(UNKNOWN, timeout=timeout),
        lambda: pool.elapsed_time(UNKNOWN, UNKNOWN),
        lambda: pool.release(UNKNOWN),
    )
