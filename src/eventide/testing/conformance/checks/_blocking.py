"""Blocking calls: timeouts, several waiters, other threads not held up."""

from __future__ import annotations

import time
from functools import partial

from eventide.runtime import synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises


@check("timeouts")
def every_blocking_call_takes_a_timeout(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    future, event = stream.submit(int), stream.record_event()
    raises(TimeoutError, lambda: stream.synchronize(timeout=0), "stream.synchronize")
    raises(TimeoutError, lambda: event.synchronize(timeout=0), "event.synchronize")
    raises(TimeoutError, lambda: synchronize(bench.device, timeout=0), "synchronize of the device")
    raises(TimeoutError, lambda: future.result(timeout=0), "future.result")
    raises(TimeoutError, lambda: future.exception(timeout=0), "future.exception")
    raises(TimeoutError, lambda: stream.close(timeout=0), "stream.close")
    hold.release()
    equal(future.result(bench.timeout), 0, "work continues after a timeout")


@check("timeouts", "concurrent")
def a_timeout_ends_a_blocking_call_in_time(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    event = stream.record_event()
    for call in (stream.synchronize, event.synchronize):
        began = time.monotonic()
        raises(TimeoutError, partial(call, timeout=0.1), "a pending wait of 0.1 s")
        took = time.monotonic() - began
        expect(0.1 <= took < 0.1 + bench.timeout, f"it took {took:.2f} s")
    hold.release()


@check("timeouts")
def a_wait_for_nothing_ends_within_a_timeout_of_zero(bench: Bench) -> None:
    stream = bench.stream()
    future, event = stream.submit(int), stream.record_event()
    stream.synchronize(timeout=bench.timeout)
    stream.synchronize(timeout=0)
    event.synchronize(timeout=0)
    equal(future.result(timeout=0), 0, "a result that is there")


@check("blocking-calls")
def every_thread_that_synchronizes_one_event_returns(bench: Bench) -> None:
    # In other runtimes one of two sleeps forever.
    stream, waiting = bench.stream(), bench.hook_calls("event_synchronization")
    for count in (4, 8, 12):
        hold = bench.hold(stream)
        event = stream.record_event()
        waiters = [bench.background(event.synchronize) for _ in range(4)]
        bench.eventually(partial(_reached, waiting, count), "four threads synchronize the event")
        hold.release()
        equal([waiter.error() for waiter in waiters], [None] * 4, "what four waiting threads got")


def _reached(things: list[tuple[object, ...]], count: int) -> bool:
    return len(things) >= count


@check("blocking-calls", "concurrent")
def others_use_a_stream_while_one_thread_synchronizes_it(bench: Bench) -> None:
    stream, other = bench.streams(2)
    hold = bench.hold(stream)
    waiting = bench.hook_calls("stream_synchronization")
    waiter = bench.background(lambda: stream.synchronize(timeout=bench.timeout))
    bench.eventually(lambda: waiting, "the other thread synchronizes the stream")
    event = stream.record_event()
    stream.wait_event(other.record_event())
    expect(stream.query() is False and event.query() is False, "queries do not block")
    last = stream.submit(int, "8")
    bench.stays(lambda: not waiter.ended, "the waiter waits")
    hold.release()
    equal(last.result(bench.timeout), 8, "work that was submitted meanwhile")
    waiter.result()


@check("synchronize-scope", "concurrent")
def synchronize_waits_for_what_was_submitted_before_it_only(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    waiting = bench.hook_calls("stream_synchronization")
    waiter = bench.background(lambda: stream.synchronize(timeout=bench.timeout))
    bench.eventually(lambda: waiting, "the other thread synchronizes the stream")
    bench.stays(lambda: not waiter.ended, "the waiter waits")
    later_hold = bench.hold(stream, behind=True)
    later = stream.submit(int)
    hold.release()
    waiter.result()
    expect(not later.done(), "later work is still pending when synchronize returns")
    later_hold.release()


@check("synchronize-scope")
def synchronize_of_the_device_waits_for_all_of_its_streams(bench: Bench) -> None:
    # In other runtimes it returns at once when it is called from another device.
    streams, log = bench.streams(3), list[int]()
    holds = [bench.hold(stream) for stream in streams]
    for number, stream in enumerate(streams):
        stream.submit(log.append, number)
    raises(TimeoutError, lambda: synchronize(bench.device, timeout=0), "synchronize while streams are held")
    for hold in holds:
        hold.release()
    synchronize(bench.device, timeout=bench.timeout)
    equal(sorted(log), [0, 1, 2], "what ran before synchronize returned")


@check("markers-one-by-one", "concurrent")
def markers_are_published_item_by_item(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    first = stream.submit(int, "1")
    event = stream.record_event()
    last_hold = bench.hold(stream, behind=True)
    last = stream.submit(int)
    hold.release()
    equal(first.result(bench.timeout), 1, "work in front of work that still runs")
    event.synchronize(timeout=bench.timeout)
    expect(not last.done(), "the last work is still to come")
    last_hold.release()
