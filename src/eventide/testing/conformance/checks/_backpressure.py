"""Back-pressure: a stream with a limit holds its submitters back."""

from __future__ import annotations

from eventide.errors import UsageValueError
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises


@check("max-pending", "concurrent")
def submit_blocks_while_the_stream_is_full(bench: Bench) -> None:
    stream, other = bench.stream(max_pending=2), bench.stream()
    hold = bench.hold(stream)
    stream.submit(int)
    stream.submit(int)
    submitter = bench.background(lambda: stream.submit(int, "3"))
    bench.stays(lambda: not submitter.ended, "the third submit blocks")
    equal(stream.pending, 2, "work that is queued")
    equal(other.submit(int, "7").result(bench.timeout), 7, "work of another stream meanwhile")
    hold.release()
    equal(submitter.result().result(bench.timeout), 3, "the work that had to wait")


@check("max-pending")
def no_more_than_the_limit_is_ever_queued(bench: Bench) -> None:
    stream, seen = bench.stream(max_pending=3), list[int]()
    for _ in range(60):
        stream.submit(lambda: seen.append(stream.pending))
    stream.synchronize(timeout=bench.timeout)
    equal(len(seen), 60, "work that ran")
    expect(max(seen) <= 3, f"at most 3 are queued, not {max(seen)}")
    equal(stream.pending, 0, "work that is left")


@check("max-pending")
def without_a_limit_submit_does_not_block(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    futures = [stream.submit(int) for _ in range(500)]
    equal(stream.pending, 500, "work that is queued")
    hold.release()
    equal(futures[-1].result(bench.timeout), 0, "the last of it")
    equal(stream.max_pending, None, "the limit")
    raises(UsageValueError, lambda: bench.stream(max_pending=0), "a limit of 0", "max_pending")


@check("max-pending")
def record_and_wait_are_not_held_back(bench: Bench) -> None:
    stream, other = bench.stream(max_pending=1), bench.stream()
    hold = bench.hold(stream)
    stream.submit(int)
    event = stream.record_event()
    stream.wait_event(other.record_event())
    stream.wait_stream(other)
    expect(stream.query() is False, "the stream is still held")
    hold.release()
    event.synchronize(timeout=bench.timeout)
