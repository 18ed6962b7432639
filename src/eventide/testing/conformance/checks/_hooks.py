"""What each hook passes, and whether it fires before or after the act."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

from eventide import hooks
from eventide.runtime import Stream, empty, synchronize, work
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import boom


@check("hook-event-lifetime")
def an_event_is_reported_from_its_first_record_to_its_end(bench: Bench) -> None:
    stream, event, calls = bench.stream(), bench.event(), list[tuple[Any, ...]]()
    for name in ("event_creation", "event_record", "event_wait", "event_synchronization", "event_deletion"):
        bench.listen(name, lambda *arguments, name=name: calls.append((name, *arguments)))
    event.record(stream)
    event.record(stream)
    event.wait(stream)
    event.synchronize(timeout=bench.timeout)
    number, queue = event.event_id, stream.stream_id
    del event
    gc.collect()
    expected = [
        ("event_creation", number),
        ("event_record", number, queue),
        ("event_record", number, queue),
        ("event_wait", number, queue),
        ("event_synchronization", number),
        ("event_deletion", number),
    ]
    equal([call for call in calls if call[1] == number], expected, "calls for the event")


@check("hook-order")
def record_wait_and_submission_fire_after_the_act(bench: Bench) -> None:
    stream, event, seen = bench.stream(), bench.event(), list[Any]()
    hold = bench.hold(stream)
    bench.listen("event_record", lambda *_: seen.append(("version", event.version)))
    bench.listen("work_submission", lambda *_: seen.append("submitted"))
    event.record(stream)
    future = stream.submit(int, "2")
    equal(seen, [("version", 1), "submitted"], "what callbacks saw")
    hold.release()
    equal(future.result(bench.timeout), 2, "the work")


@check("hook-work")
def a_submission_passes_stream_work_name_and_ranges(bench: Bench) -> None:
    stream, buffer = bench.stream(), empty(64, bench.device)

    @work(name="fill", reads="source", writes="target")
    def fill(target: Any, source: Any) -> None:
        """Touch nothing: the device need not be visible to the host."""

    calls = bench.hook_calls("work_submission")
    future = stream.submit(fill, buffer, bytes(8))
    future.result(bench.timeout)
    equal(len(calls), 1, "submissions")
    queue, number, name, reads, writes = calls[0]
    equal((queue, number, name), (stream.stream_id, future.work_id, "fill"), "stream, work and name")
    equal((len(reads), reads[0][1], writes), (1, 8, ((buffer.ptr, 64),)), "what it reads and writes")


@check("hook-work")
def every_submission_has_one_completion_with_its_outcome(bench: Bench) -> None:
    class Collector(hooks.Observer):
        records: list[hooks.HookRecord]

        def work_completion(self, record: hooks.HookRecord) -> None:
            self.records.append(record)

    stream, observer = bench.stream(), Collector()
    observer.records = []
    hold = bench.hold(stream)
    futures = [stream.submit(*call) for call in ((int,), (int, "cancelled"), (boom,), (int, "skipped"))]
    bench.observe(observer)
    cancelled = futures[1].cancel()
    hold.release()
    raises(Exception, lambda: stream.synchronize(timeout=bench.timeout), "the failure")
    wanted = {future.work_id: outcome for future, outcome in zip(futures, _outcomes(cancelled), strict=True)}
    bench.eventually(lambda: {one.work for one in observer.records} >= set(wanted), "four completions")
    mine = [one for one in observer.records if one.work in wanted]
    equal(sorted((one.work, one.outcome) for one in mine), sorted(wanted.items()), "work and outcome")
    expect(all(one.start_ns <= one.end_ns for one in mine), "no work ends before it starts")
    expect(all((one.stream, one.device) == (stream.stream_id, bench.device) for one in mine), "stream and device")


def _outcomes(cancelled: bool) -> list[str]:
    return ["ok", "cancelled", "failed", "skipped"] if cancelled else ["ok", "failed", "skipped", "skipped"]


@check("hook-work")
def completions_of_one_stream_come_in_its_order(bench: Bench) -> None:
    stream, calls = bench.stream(), bench.hook_calls("work_completion")
    futures = [stream.submit(sum, range(100)) for _ in range(10)]
    stream.synchronize(timeout=bench.timeout)
    bench.eventually(lambda: len(calls) == 10, "ten completions")
    equal([call[0] for call in calls], [future.work_id for future in futures], "work in the order of completion")
    starts = [call[1] for call in calls]
    equal(starts, sorted(starts), "start times")


@check("hook-stream-lifetime")
def a_stream_is_reported_once_at_creation_and_once_at_deletion(bench: Bench) -> None:
    # In other runtimes one stream fires 32 creations.
    created, deleted = bench.hook_calls("stream_creation"), bench.hook_calls("stream_deletion")
    stream = Stream(bench.device)
    number = stream.stream_id
    equal((created, deleted), ([(number,)], []), "creations and deletions of one stream")
    stream.close(timeout=bench.timeout)
    del stream
    gc.collect()
    bench.eventually(lambda: (number,) in deleted, "the deletion")
    equal(deleted.count((number,)), 1, "deletions of one stream")


@check("hook-memory")
def memory_is_reported_with_its_address(bench: Bench) -> None:
    allocated, freed = bench.hook_calls("memory_allocation"), bench.hook_calls("memory_deallocation")
    buffers = [empty(32, bench.device) for _ in range(2)]
    addresses = [(buffer.ptr,) for buffer in buffers]
    equal((allocated, freed), (addresses, []), "allocations, and no deallocation yet")
    buffers[0].free()
    buffers.clear()
    gc.collect()
    equal(freed, addresses, "deallocations, each once")


@check("hook-synchronization", "concurrent")
def a_synchronization_is_reported_before_it_blocks(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()

    def calls_during(hook: str, call: Callable[..., object]) -> list[tuple[int, ...]]:
        calls = list[tuple[int, ...]]()
        hold = bench.hold(stream)
        event.record(stream)

        def let_go(*numbers: int) -> None:
            calls.append(numbers)
            hold.release()

        with bench.listen(hook, let_go):
            call(timeout=bench.timeout)  # ends since the callback let the stream go
        return calls

    equal(calls_during("stream_synchronization", stream.synchronize), [(stream.stream_id,)], "firings for the stream")
    equal(calls_during("event_synchronization", event.synchronize), [(event.event_id,)], "firings for the event")
    equal(calls_during("device_synchronization", partial(synchronize, bench.device)), [()], "firings for the device")


@check("hook-synchronization")
def an_observer_receives_the_end_of_a_synchronization_with_the_time_waited(bench: Bench) -> None:
    class Collector(hooks.Observer):
        records: list[hooks.HookRecord]

        def stream_synchronization(self, record: hooks.HookRecord) -> None:
            self.records.append(record)

        stream_synchronization_end = stream_synchronization

    stream, observer = bench.stream(), Collector()
    observer.records = []
    hold = bench.hold(stream)
    bench.observe(observer)
    raises(TimeoutError, partial(stream.synchronize, timeout=0), "a pending stream")
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    mine = [(one.end, one.device) for one in observer.records if one.stream == stream.stream_id]
    begin, end = (False, bench.device), (True, bench.device)
    equal(mine, [begin, end, begin, end], "begin and end of one that timed out and one that did not")
    expect(all(one.waited_ns >= 0 and one.time_ns > 0 for one in observer.records), "times")
