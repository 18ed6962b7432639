"""Deadlock: a blocking call inside work that would wait for that very work raises."""

from __future__ import annotations

import threading
from collections.abc import Callable

from eventide.errors import DeadlockError
from eventide.runtime import Event, Future, Stream, synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect


def deadlock(call: Callable[[], object]) -> DeadlockError | None:
    """The DeadlockError that a call raises, as a value: the work that makes the call does not fail."""
    try:
        call()
    except DeadlockError as error:
        return error
    return None


@check("deadlock-raises", "deferred")
def blocking_on_the_own_stream_inside_work_is_a_deadlock_error(bench: Bench) -> None:
    stream = bench.stream(name="knot")
    events = list[Event]()
    calls: dict[str, Callable[[], object]] = {
        "stream.synchronize": lambda: stream.synchronize(timeout=bench.timeout),
        "event.synchronize": lambda: events[-1].synchronize(timeout=bench.timeout),
        "synchronize of the device": lambda: synchronize(bench.device, timeout=bench.timeout),
        "stream.close": lambda: stream.close(timeout=bench.timeout),
        "future.result": lambda: futures[-1].result(timeout=bench.timeout),
    }
    futures = list[Future[DeadlockError | None]]()
    for name, call in calls.items():
        hold = bench.hold(stream)
        futures.append(stream.submit(deadlock, call))
        events.append(stream.record_event())
        hold.release()
        error = futures[-1].result(bench.timeout)
        expect(isinstance(error, DeadlockError), f"{name} inside its own stream's work is a DeadlockError")
        expect("knot" in str(error) or str(stream.stream_id) in str(error), f"it names the stream: {error}")
    stream.synchronize(timeout=bench.timeout)
    expect(not stream.closed, "the stream is as it was")


@check("deadlock-raises", "deferred")
def a_cycle_through_a_queued_wait_is_a_deadlock_error_that_names_it(bench: Bench) -> None:
    first, second = bench.stream(name="alpha"), bench.stream(name="beta")
    queued = list[Future[int]]()
    hold = bench.hold(first)
    outcome = first.submit(lambda: deadlock(lambda: queued[0].result(timeout=bench.timeout)))
    event = first.record_event()
    second.wait_event(event)
    queued.append(second.submit(int, "2"))
    hold.release()
    error = outcome.result(bench.timeout)
    expect(isinstance(error, DeadlockError), "waiting for work that waits for the caller is a DeadlockError")
    for name, number in (("alpha", first.stream_id), ("beta", second.stream_id), (" ", event.event_id)):
        expect(name in str(error) or str(number) in str(error), f"it names streams and events: {error}")
    equal(queued[0].result(bench.timeout), 2, "the work of the other stream, afterwards")


@check("deadlock-raises", "deferred", "concurrent")
def of_two_works_that_wait_for_each_other_exactly_one_raises(bench: Bench) -> None:
    first, second = bench.streams(2)
    both_run = threading.Barrier(2)

    def work(partner: Stream) -> DeadlockError | None:
        both_run.wait(bench.timeout)
        return deadlock(lambda: partner.synchronize(timeout=bench.timeout))

    outcomes = [first.submit(work, second), second.submit(work, first)]
    errors = [outcome.result(bench.timeout) for outcome in outcomes]
    equal([type(error) for error in errors if error is not None], [DeadlockError], "the errors of both")


@check("deadlock-raises", "deferred")
def waiting_for_another_stream_inside_work_is_no_deadlock(bench: Bench) -> None:
    stream, other = bench.streams(2)

    def work() -> int:
        other.record_event().synchronize(timeout=bench.timeout)
        other.synchronize(timeout=bench.timeout)
        return int(other.submit(int, "5").result(bench.timeout))

    equal(stream.submit(work).result(bench.timeout), 5, "what another stream gave")


@check("deadlock-raises", "deferred")
def what_has_ended_can_be_queried_inside_work(bench: Bench) -> None:
    stream = bench.stream()
    earlier, event = stream.submit(int, "4"), stream.record_event()

    def work() -> int:
        event.synchronize(timeout=bench.timeout)
        return int(earlier.result(bench.timeout))

    equal(stream.submit(work).result(bench.timeout), 4, "the result of earlier work of the same stream")
