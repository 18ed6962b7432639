"""Subscriptions, callbacks that raise, snapshots and filters."""

from __future__ import annotations

from eventide import hooks
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect
from eventide.testing.conformance._tools import boom, logged


@check("subscription-closes")
def subscriptions_close_in_any_order_and_twice_without_harm(bench: Bench) -> None:
    stream, calls = bench.stream(), list[int]()

    def listen(*_: int) -> None:
        calls.append(0)

    first, second = bench.listen("event_record", listen), bench.listen("event_record", listen)
    third = bench.listen("event_record", lambda *_: calls.append(3))
    stream.record_event()
    equal(calls, [0, 0, 3], "the same function twice is two subscriptions")
    first.close()
    first.close()
    expect(first.closed and not second.closed, "closed is True for the closed one only")
    calls.clear()
    with third:
        stream.record_event()
    stream.record_event()
    equal(calls, [0, 3, 0], "after the first, and then the third, was closed")


@check("hook-callback-errors")
def a_hook_callback_that_raises_is_logged_and_counted_and_the_program_goes_on(bench: Bench) -> None:
    stream = bench.stream()
    before = hooks.EventRecordCallbacks.statistics()["errors"]
    bench.listen("event_record", lambda *_: boom("in a hook"))
    calls = bench.hook_calls("event_record")
    with logged("eventide.hooks") as records:
        event = stream.record_event()
    equal(calls, [(event.event_id, stream.stream_id)], "arguments of the next callback")
    equal(hooks.EventRecordCallbacks.statistics()["errors"], before + 1, "errors counted")
    expect(len(records) == 1 and "event_record" in records[0].getMessage(), "one line in the log, with the hook's name")
    event.synchronize(timeout=bench.timeout)


@check("hook-callback-errors")
def a_hook_callback_that_raises_disturbs_no_work(bench: Bench) -> None:
    stream = bench.stream()
    for hook in ("work_submission", "work_completion", "stream_synchronization", "event_synchronization"):
        bench.listen(hook, lambda *_: boom("in a hook"))
    with logged("eventide.hooks"):
        future, event = stream.submit(int, "3"), stream.record_event()
        event.synchronize(timeout=bench.timeout)
        stream.synchronize(timeout=bench.timeout)
        equal(future.result(bench.timeout), 3, "the value of the work")
        stream.close(timeout=bench.timeout)


@check("hook-snapshot")
def callbacks_added_meanwhile_are_called_next_time_and_none_calls_itself(bench: Bench) -> None:
    stream, calls = bench.stream(), list[str]()

    def first(*_: int) -> None:
        calls.append("first")
        if len(calls) == 1:
            bench.listen("event_record", lambda *_: calls.append("added"))
            stream.record_event()  # fires no Python callback on this thread

    bench.listen("event_record", first)
    stream.record_event()
    equal(calls, ["first"], "during the first firing")
    stream.record_event()
    equal(calls, ["first", "first", "added"], "after the second")


@check("hook-device-filter")
def a_callback_may_listen_to_one_device_type_only(bench: Bench) -> None:
    stream, foreign = bench.stream(), bench.stream(bench.another_type())
    mine, theirs = bench.hook_calls("event_record", bench.kind), bench.hook_calls("event_record", foreign.device_type)
    event, other = stream.record_event(), foreign.record_event()
    equal(mine, [(event.event_id, stream.stream_id)], "calls for this device type")
    equal(theirs, [(other.event_id, foreign.stream_id)], "calls for the other")
    foreign.synchronize(timeout=bench.timeout)
