"""Timing: the checks of elapsed_time in their order, and what the numbers mean."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from typing import Any

from eventide.runtime import Event
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import CheckSkippedError, equal, expect, raises

NO_TIMING = "Both events must be created with argument 'enable_timing=True'."


@check("elapsed-time-errors")
def elapsed_time_checks_the_type_first_and_timing_next(bench: Bench) -> None:
    plain = bench.event()
    things: tuple[Any, ...] = (None, 5, "end", bench.stream())
    for thing in things:
        raises(TypeError, partial(plain.elapsed_time, thing), "the end is no event")
    raises(ValueError, lambda: plain.elapsed_time(bench.event()), "neither has timing, nor was recorded", NO_TIMING)


@check("elapsed-time-errors", "timing")
def elapsed_time_wants_timing_of_both_events(bench: Bench) -> None:
    stream = bench.stream()
    timed, plain = bench.done(stream, enable_timing=True), stream.record_event()
    plain.synchronize(timeout=bench.timeout)
    raises(ValueError, lambda: timed.elapsed_time(plain), "the end has no timing", NO_TIMING)
    raises(ValueError, lambda: plain.elapsed_time(timed), "the start has no timing", NO_TIMING)
    raises(ValueError, lambda: plain.completed_at, "completed_at without timing", "enable_timing=True")


@check("elapsed-time-errors", "timing")
def elapsed_time_between_device_types_is_a_value_error(bench: Bench) -> None:
    elsewhere = bench.another_type()
    mine, other = bench.event(enable_timing=True), Event(elsewhere, enable_timing=True)
    raises(ValueError, lambda: mine.elapsed_time(other), "two device types")
    raises(ValueError, lambda: other.elapsed_time(mine), "two device types")


@check("elapsed-time-errors", "timing")
def elapsed_time_of_a_pending_event_says_to_synchronize_first(bench: Bench) -> None:
    stream, other = bench.streams(2)
    done = bench.done(other, enable_timing=True)
    hold = bench.hold(stream)
    pending = bench.recorded(stream, enable_timing=True)
    for start, end in ((done, pending), (pending, done)):
        error = raises(RuntimeError, partial(start.elapsed_time, end), "one is pending", "synchronize")
        expect(not isinstance(error, ValueError), "calling too early is not a ValueError")
    raises(RuntimeError, lambda: pending.completed_at, "completed_at of a pending event", "synchronize")
    hold.release()
    pending.synchronize(timeout=bench.timeout)
    expect(isinstance(done.elapsed_time(pending), float), "milliseconds as a float, once both are done")


@check("elapsed-time", "timing")
def elapsed_time_may_be_called_twice_and_after_synchronize(bench: Bench) -> None:
    # In other runtimes it hangs.
    stream = bench.stream()
    start = bench.recorded(stream, enable_timing=True)
    stream.submit(sum, range(1000))
    end = bench.recorded(stream, enable_timing=True)
    end.synchronize(timeout=bench.timeout)
    end.synchronize(timeout=bench.timeout)
    equal(len({start.elapsed_time(end) for _ in range(3)}), 1, "different answers to one question")


@check("elapsed-time", "timing")
def elapsed_time_is_the_difference_of_the_completion_times_in_milliseconds(bench: Bench) -> None:
    stream = bench.stream()
    start = bench.recorded(stream, enable_timing=True)
    hold = bench.hold(stream)
    end = bench.recorded(stream, enable_timing=True)
    hold.release()
    end.synchronize(timeout=bench.timeout)
    took = (end.completed_at - start.completed_at) / 1e6
    expect(isinstance(end.completed_at, int), "completed_at is in whole nanoseconds")
    # One is on the device's clock and one on the host's: two quartz clocks differ by 200 ppm at most.
    expect(abs(start.elapsed_time(end) - took) < 1e-3 + 2e-4 * took, f"elapsed_time is {took} ms, as completed_at says")
    expect(start.elapsed_time(end) > 0, "time passes while work is done")
    equal(end.elapsed_time(start), -start.elapsed_time(end), "the other way round")
    equal(start.elapsed_time(start), 0.0, "from an event to itself")


@check("device-time", "timing")
def times_of_one_stream_never_run_backwards(bench: Bench) -> None:
    # In other runtimes short intervals can be negative.
    stream = bench.stream()
    events = []
    for number in range(60):
        if number % 3 == 0:
            stream.submit(sum, range(100))
        events.append(bench.recorded(stream, enable_timing=True))
    stream.synchronize(timeout=bench.timeout)
    times = [event.completed_at for event in events]
    expect(all(first <= second for first, second in pairwise(times)), f"times in stream order never fall: {times}")


@check("device-time", "timing")
def a_time_is_when_the_device_passed_the_marker_not_when_the_host_noticed(bench: Bench) -> None:
    # The host queries the later marker first. A device that is slow to pass the other one gets another try.
    stream, other = bench.streams(2)
    late = []
    for _ in range(10):
        first = bench.recorded(stream, enable_timing=True)
        bench.pause()
        last = bench.done(other, enable_timing=True)
        noticed = last.completed_at
        first.synchronize(timeout=bench.timeout)
        late.append(first.completed_at - noticed)
        if late[-1] <= 0:
            return
    expect(not late, f"a marker that was passed first has a time that is {min(late)} ns after the other's, every time")


@check("device-time", "timing")
def a_time_is_not_before_the_end_of_the_work_in_front_of_the_marker(bench: Bench) -> None:
    stream, other = bench.streams(2)
    for way in (bench.hold, bench.stall):
        hold = way(stream)
        event = bench.recorded(stream, enable_timing=True)
        meanwhile = bench.done(other, enable_timing=True)
        hold.release()
        event.synchronize(timeout=bench.timeout)
        expect(meanwhile.elapsed_time(event) >= 0, "a marker is passed after all that was done while it was pending")


@check("device-time", "timing")
def a_wait_orders_the_times_of_two_streams(bench: Bench) -> None:
    stream, other = bench.streams(2)
    hold = bench.hold(stream)
    start = bench.recorded(stream, enable_timing=True)
    other.wait_event(start)
    end = bench.recorded(other, enable_timing=True)
    hold.release()
    end.synchronize(timeout=bench.timeout)
    expect(start.elapsed_time(end) >= 0, "what waited is not earlier than what it waited for")


@check("elapsed-time", "timing")
def a_time_does_not_change_until_a_new_record(bench: Bench) -> None:
    stream = bench.stream()
    event = bench.done(stream, enable_timing=True)
    before = event.completed_at
    bench.done(stream)
    equal(event.completed_at, before, "the time of a complete marker, later")
    hold = bench.hold(stream)
    event.record(stream)
    hold.release()
    event.synchronize(timeout=bench.timeout)
    expect(event.completed_at > before, "a record behind more work has a later time")


@check("device-time", "timing")
def the_time_of_a_marker_lies_between_the_marks_of_the_host(bench: Bench) -> None:
    # Whatever clock the device has: it is mapped onto the trace's, and the error is stated.
    if bench.capabilities.clock == "virtual":
        raise CheckSkippedError("its time is not real")
    stream = bench.stream()
    bench.done(stream)
    before = time.monotonic_ns()
    event = bench.done(stream, enable_timing=True)
    after = time.monotonic_ns()
    error = bench.where.clock.error_ns
    expect(error >= 0, "the accuracy of the clock is stated")
    slack = error + (after - before) // 1000 + 10_000  # the bound was taken a moment later
    expect(
        before - slack <= event.completed_at <= after + slack,
        f"a marker made between {before} and {after} has the time {event.completed_at}, {slack} ns beyond the bound",
    )
