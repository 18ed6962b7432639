"""Where work runs, and its Future."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from typing import Any

from eventide.errors import UsageError
from eventide.runtime import Future, current_stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import Boom, boom


@check("future-result")
def submit_hands_over_every_argument_and_the_future_holds_the_value(bench: Bench) -> None:
    stream = bench.stream()

    def work(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    future = stream.submit(work, 1, 2, fn=3, self=4, name=5)
    expect(isinstance(future, Future) and isinstance(future, concurrent.futures.Future), "submit returns a Future")
    equal(future.result(bench.timeout), ((1, 2), {"fn": 3, "self": 4, "name": 5}), "the arguments")
    expect(isinstance(stream.submit(Boom, "a value").result(bench.timeout), Boom), "an exception returned is a value")


@check("deferred-work", "deferred")
def work_runs_when_its_stream_reaches_it(bench: Bench) -> None:
    stream, log = bench.stream(), list[int]()
    hold = bench.hold(stream)
    future = stream.submit(log.append, 1)
    bench.stays(lambda: not log and not future.done(), "work behind a hold has not run")
    hold.release()
    future.result(bench.timeout)
    equal(log, [1], "what ran")


@check("deferred-work", "deferred", "concurrent")
def work_runs_on_a_thread_of_the_device(bench: Bench) -> None:
    future = bench.stream().submit(threading.get_ident)
    expect(future.result(bench.timeout) != threading.get_ident(), "work does not run on the thread that submits it")


@check("current-stream-in-work")
def the_stream_is_current_inside_its_work(bench: Bench) -> None:
    stream, other = bench.streams(2)
    with other:
        equal(stream.submit(current_stream, bench.device).result(bench.timeout), stream, "the current stream in work")
        equal(current_stream(bench.device), other, "the current stream of the submitter")


@check("future-result")
def a_future_is_done_when_the_device_has_passed_its_work(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    future = stream.submit(int, "3")
    bench.stays(lambda: not future.done(), "the Future of pending work is not done")
    raises(TimeoutError, lambda: future.result(timeout=0), "the result of pending work")
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    expect(future.done(), "a Future is done once its stream is synchronized")
    equal((future.result(0), future.exception(0)), (3, None), "value and exception")


@check("cancel-skips", "deferred")
def cancelling_pending_work_skips_it_and_is_no_error(bench: Bench) -> None:
    stream, log = bench.stream(), list[str]()
    hold = bench.hold(stream)
    cancelled = stream.submit(log.append, "cancelled")
    event = stream.record_event()
    last = stream.submit(log.append, "last")
    expect(cancelled.cancel() and cancelled.cancel(), "cancel of pending work is True, twice")
    expect(cancelled.cancelled() and cancelled.done() and not cancelled.running(), "a cancelled Future is done")
    hold.release()
    last.result(bench.timeout)
    event.synchronize(timeout=bench.timeout)
    stream.synchronize(timeout=bench.timeout)
    equal(log, ["last"], "what ran")
    raises(concurrent.futures.CancelledError, lambda: cancelled.result(bench.timeout), "the result of cancelled work")
    expect(not last.cancel(), "cancel of completed work is False")


@check("cancel-skips", "deferred", "concurrent")
def running_work_cannot_be_cancelled(bench: Bench) -> None:
    stream, gate = bench.stream(), bench.gate()
    future = stream.submit(gate)
    gate.reached()
    expect(future.running() and not future.cancel(), "work that runs is running, and cancel is False")
    gate.open()
    equal(future.result(bench.timeout), None, "its value")


@check("future-interface")
def the_standard_library_takes_futures_of_streams(bench: Bench) -> None:
    stream, other = bench.streams(2)
    futures = [one.submit(int, number) for number in range(5) for one in (stream, other)]
    done, pending = concurrent.futures.wait(futures, bench.timeout)
    equal((len(done), len(pending)), (10, 0), "done and pending of concurrent.futures.wait")
    hold = bench.hold(stream)
    late = stream.submit(int, "9")
    hold.release()
    finished = concurrent.futures.as_completed([late, *futures], timeout=bench.timeout)
    equal(sorted(future.result(0) for future in finished), sorted([*range(5), *range(5), 9]), "as_completed")

    async def main() -> list[int]:
        return [await asyncio.wrap_future(stream.submit(int, number)) for number in range(3)]

    equal(bench.run_loop(main()), [0, 1, 2], "asyncio.wrap_future")


@check("future-interface")
def a_future_cannot_be_made_or_settled_from_outside(bench: Bench) -> None:
    stream = bench.stream()
    raises(UsageError, Future, "making a Future")
    hold = bench.hold(stream)
    future = stream.submit(int, "2")
    raises(UsageError, lambda: future.set_result(5), "set_result")
    raises(UsageError, lambda: future.set_exception(Boom()), "set_exception")
    hold.release()
    equal(future.result(bench.timeout), 2, "its own value")


@check("deferred-work", "deferred", "concurrent")
def work_does_not_copy_context_variables(bench: Bench) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="default")
    variable.set("of the submitter")
    equal(bench.stream().submit(variable.get).result(bench.timeout), "default", "the variable inside work")


@check("runs-exactly-once")
def work_runs_although_its_future_was_dropped(bench: Bench) -> None:
    stream, log = bench.stream(), list[int]()
    for number in range(10):
        stream.submit(log.append, number)
    stream.synchronize(timeout=bench.timeout)
    equal(log, list(range(10)), "what ran")


@check("future-result")
def the_exception_of_work_is_read_from_its_future(bench: Bench) -> None:
    future = bench.stream().submit(boom, "kept")
    error = future.exception(bench.timeout)
    expect(isinstance(error, Boom) and error.args == ("kept",), f"exception() gives the error itself, not {error!r}")
    expect(raises(Boom, lambda: future.result(bench.timeout), "result()") is error, "result() raises the same error")
