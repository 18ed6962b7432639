"""The current stream: of a thread, re-entrant, restored also after an error."""

from __future__ import annotations

from eventide.runtime import Stream, current_stream, default_stream, set_stream
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, raises
from eventide.testing.conformance._tools import Boom


@check("current-stream")
def with_makes_a_stream_current_and_puts_the_old_one_back(bench: Bench) -> None:
    # In other runtimes `with s, s` fails.
    stream, other = bench.streams(2)
    default = default_stream(bench.device)
    equal(current_stream(bench.device), default, "the current stream at first")
    with stream, stream:
        equal(current_stream(bench.device), stream, "inside")
        with other, stream:
            equal(current_stream(bench.device), stream, "deeper inside")
        equal(current_stream(bench.device), stream, "inside again")

    def leave_by_an_error() -> None:
        with other:
            raise Boom

    raises(Boom, leave_by_an_error, "an error inside")
    equal(current_stream(bench.device), default, "afterwards")


@check("current-stream")
def each_thread_has_its_own_current_stream(bench: Bench) -> None:
    stream, other = bench.streams(2)

    def elsewhere() -> tuple[Stream, Stream]:
        before = current_stream(bench.device)
        set_stream(other)
        return before, current_stream(bench.device)

    with stream:
        equal(bench.background(elsewhere).result(), (default_stream(bench.device), other), "on another thread")
        equal(current_stream(bench.device), stream, "on this one")


@check("current-stream")
def record_and_wait_without_a_stream_use_the_current_one(bench: Bench) -> None:
    stream, event = bench.stream(), bench.event()
    recorded, waited = bench.hook_calls("event_record"), bench.hook_calls("event_wait")
    with stream:
        event.record()
        event.wait()
    equal((recorded, waited), ([(event.event_id, stream.stream_id)],) * 2, "where it was recorded and waited for")
    event.synchronize(timeout=bench.timeout)


@check("default-stream")
def the_default_stream_works_like_any_stream(bench: Bench) -> None:
    default, event = default_stream(bench.device), bench.event()
    hold = bench.hold(default)
    future = default.submit(current_stream, bench.device)
    event.record(default)
    bench.stays(lambda: event.query() is False, "a marker behind a hold is pending")
    hold.release()
    equal(future.result(bench.timeout), default, "the current stream inside its work")
    default.synchronize(timeout=bench.timeout)
