"""Dropping and closing what is in use."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

from eventide.runtime import Stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import Boom


@check("drop-is-safe")
def a_wait_survives_the_event_it_waits_for(bench: Bench) -> None:
    (stream, other), log = bench.streams(2), list[str]()
    hold = bench.hold(stream)
    stream.submit(log.append, "first")
    event = stream.record_event()
    other.wait_event(event)
    del event
    gc.collect()
    future = other.submit(log.append, "second")
    bench.stays(lambda: not future.done(), "the wait remains without its event")
    hold.release()
    future.result(bench.timeout)
    equal(log, ["first", "second"], "the order over two streams")


@check("drop-is-safe")
def a_stream_that_is_dropped_finishes_its_work(bench: Bench) -> None:
    stream, log = Stream(bench.device), list[int]()
    hold = bench.hold(stream)
    for number in range(5):
        future = stream.submit(log.append, number)
    event = stream.record_event()
    del stream
    gc.collect()
    hold.release()
    future.result(bench.timeout)
    event.synchronize(timeout=bench.timeout)
    equal(log, [0, 1, 2, 3, 4], "what ran after the stream was dropped")


@check("close-drains")
def close_drains_and_closing_twice_is_fine(bench: Bench) -> None:
    stream, log = bench.stream(), list[int]()
    for number in range(20):
        stream.submit(log.append, number)
    event = stream.record_event()
    expect(not stream.closed, "open before close()")
    stream.close(timeout=bench.timeout)
    equal(log, list(range(20)), "what ran before close() returned")
    expect(stream.closed and event.query(), "closed, and its events are complete")
    stream.close(timeout=bench.timeout)


@check("close-drains", "concurrent")
def a_close_that_timed_out_can_be_repeated(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    future = stream.submit(int, "5")
    raises(TimeoutError, lambda: stream.close(timeout=0), "close() of a held stream")
    hold.release()
    stream.close(timeout=bench.timeout)
    equal(future.result(0), 5, "work that was queued")


@check("closed-stream")
def an_event_of_a_closed_stream_still_answers(bench: Bench) -> None:
    stream, other = bench.streams(2)
    event = stream.record_event()
    stream.close(timeout=bench.timeout)
    expect(event.query() is True, "it is complete")
    event.synchronize(timeout=0)
    other.wait_event(event)
    equal(other.submit(int, "1").result(bench.timeout), 1, "work behind a wait for it")


@check("close-drains")
def with_does_not_close_a_stream(bench: Bench) -> None:
    stream = bench.stream()
    with stream:
        stream.submit(int)
    expect(not stream.closed, "a stream is open after `with`")
    equal(stream.submit(int, "4").result(bench.timeout), 4, "work afterwards")


@check("references-released")
def work_and_its_arguments_are_released_when_it_is_complete(bench: Bench) -> None:
    class Thing:
        def __call__(self, error: Exception | None = None) -> None:
            if error is not None:
                raise error

    stream, things = bench.stream(), [Thing() for _ in range(3)]
    references = [weakref.ref(thing) for thing in things]
    hold = bench.hold(stream)
    stream.submit(things[0])
    stream.submit(things[1], Boom())
    stream.submit(things[2])
    things.clear()
    hold.release()
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "synchronize")
    for reference, how in zip(references, ("ran", "failed", "was skipped"), strict=True):
        bench.is_freed(reference, f"work that {how}")


@check("references-released")
def dropped_streams_events_and_futures_are_freed(bench: Bench) -> None:
    stream = Stream(bench.device)
    event, future = stream.record_event(), stream.submit(int)
    future.result(bench.timeout)
    references: tuple[Callable[[], object], ...] = (weakref.ref(stream), weakref.ref(event), weakref.ref(future))
    del stream, event, future
    for reference, name in zip(references, ("stream", "event", "future"), strict=True):
        bench.is_freed(reference, f"a dropped {name}")
