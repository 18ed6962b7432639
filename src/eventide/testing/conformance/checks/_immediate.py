"""Devices that run work inside ``submit``."""

from __future__ import annotations

import threading
import time

from eventide.errors import StreamError
from eventide.hooks import HookRecord, Observer
from eventide.runtime import Event, current_stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import CheckSkippedError, equal, expect, raises, root_cause
from eventide.testing.conformance._tools import Boom, boom


def immediate(bench: Bench) -> None:
    """Skip the check on devices that run work later."""
    if bench.capabilities.deferred:
        raise CheckSkippedError("it is 'deferred'")


@check("immediate-work")
def an_immediate_device_runs_work_inside_submit_with_its_stream_current(bench: Bench) -> None:
    immediate(bench)
    stream, seen = bench.stream(), list[object]()
    hold = bench.hold(stream)
    future = stream.submit(lambda: seen.append((threading.get_ident(), current_stream(bench.device))))
    equal(seen, [(threading.get_ident(), stream)], "the thread and the current stream of work")
    expect(not future.done() and future.running(), "its Future waits for the device")
    expect(not future.cancel(), "what ran cannot be cancelled")
    hold.release()
    equal(future.result(bench.timeout), None, "its value")


@check("immediate-work")
def work_of_an_immediate_device_may_use_its_own_stream(bench: Bench) -> None:
    immediate(bench)
    stream, events = bench.stream(), list[Event]()

    def work() -> int:
        events.append(current_stream(bench.device).record_event())
        inner = stream.submit(int, "3")
        stream.synchronize(timeout=bench.timeout)
        return int(inner.result(bench.timeout))

    equal(stream.submit(work).result(bench.timeout), 3, "the value of work submitted by work")
    expect(events[0].query() and stream.query(), "all of it is complete")


@check("immediate-errors")
def an_immediate_device_runs_nothing_behind_a_failure(bench: Bench) -> None:
    immediate(bench)
    stream, log, error = bench.stream(), list[int](), Boom("first")

    def fail() -> None:
        raise error

    hold = bench.hold(stream)
    failed = stream.submit(fail)
    refused = [stream.submit(log.append, number) for number in range(3)]
    equal(log, [], "what ran behind the failure")
    expect(not failed.done() and not any(one.done() for one in refused), "Futures wait for the device")
    hold.release()
    expect(failed.exception(bench.timeout) is error, "the Future carries the error itself")
    for future in refused:
        refusal = future.exception(bench.timeout)
        expect(isinstance(refusal, StreamError) and refusal.__cause__ is error, f"a refusal, not {refusal!r}")
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "synchronize after the failure")


@check("immediate-errors", "heals")
def a_synchronize_that_gave_up_heals_no_immediate_stream(bench: Bench) -> None:
    immediate(bench)
    stream, log = bench.stream(), list[int]()
    hold = bench.hold(stream)
    stream.submit(boom)
    raises(TimeoutError, lambda: stream.synchronize(timeout=0), "synchronize of a held stream")
    refusal = stream.submit(log.append, 1)
    hold.release()
    expect(isinstance(refusal.exception(bench.timeout), StreamError), "work is still refused")
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "the synchronize that comes through")
    stream.submit(log.append, 2).result(bench.timeout)
    equal(log, [2], "what ran")


@check("immediate-errors", "gate")
def work_that_ran_ahead_of_a_failure_elsewhere_fails_all_the_same(bench: Bench) -> None:
    # The function ran inside submit; what it waits for fails only later.
    immediate(bench)
    foreign, stream, error = bench.stream("cpu:0"), bench.stream(), Boom("elsewhere")
    gate = bench.gate()

    def fail() -> None:
        gate()
        raise error

    foreign.submit(fail)
    stream.wait_event(foreign.record_event())
    future = stream.submit(int, "3")
    behind = stream.record_event()
    gate.open()
    refusal = future.exception(bench.timeout)
    expect(isinstance(refusal, StreamError), f"work behind the wait fails with StreamError, not {refusal!r}")
    expect(root_cause(refusal) is error, "the first cause is the error of the other stream")
    raises(StreamError, lambda: behind.synchronize(timeout=bench.timeout), "the marker behind it")


class _Collector(Observer):
    def __init__(self) -> None:
        self.records = list[tuple[str, int, int, int]]()

    def work_submission(self, record: HookRecord) -> None:
        self.records.append(("submission", record.work, 0, 0))

    def work_completion(self, record: HookRecord) -> None:
        self.records.append(("completion", record.work, record.start_ns, record.end_ns))


@check("hook-work", "timing")
def immediate_work_is_reported_as_submission_then_completion_with_the_device_s_times(bench: Bench) -> None:
    immediate(bench)
    stream, observer = bench.stream(), _Collector()
    bench.observe(observer)
    before = time.monotonic_ns()
    works = [stream.submit(int).work_id for _ in range(3)]
    stream.synchronize(timeout=bench.timeout)
    after = time.monotonic_ns()
    bench.eventually(lambda: len(observer.records) >= 6, "three submissions and three completions")
    for work in works:
        mine = [one for one in observer.records if one[1] == work]
        equal([one[0] for one in mine], ["submission", "completion"], "records of one work")
        start, end = mine[1][2:]
        error = max(bench.where.clock.error_ns, 0) + 1_000_000
        expect(before - error <= start <= end <= after + error, f"times between {before} and {after}: {start}, {end}")
