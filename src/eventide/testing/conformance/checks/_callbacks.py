"""notify, and the thread that callbacks run on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from eventide.errors import UsageError
from eventide.runtime import Event, Future, synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect
from eventide.testing.conformance._tools import Boom, boom, logged

NOTIFIER = "eventide-notifier"


@check("notify")
def notify_calls_once_on_the_notifier_thread_with_the_event(bench: Bench) -> None:
    stream, calls = bench.stream(), list[tuple[Event, str]]()
    hold = bench.hold(stream)
    event = stream.record_event()
    later = event.notify(lambda done: calls.append((done, threading.current_thread().name)))
    expect(later is True or bench.virtual, "notify of a pending event is True")
    bench.stays(lambda: bench.virtual or not calls, "no call while the marker is pending")
    hold.release()
    event.synchronize(timeout=bench.timeout)
    bench.eventually(lambda: calls, "the notification")
    bench.stays(lambda: calls == [(event, NOTIFIER)], f"one call, with the event, on the notifier: {calls}")


@check("notify")
def notify_of_an_ended_event_calls_at_once_on_the_calling_thread(bench: Bench) -> None:
    calls = list[tuple[Event, int]]()
    events = [bench.done(bench.stream()), bench.event()]
    for number, event in enumerate(events, 1):
        later = event.notify(lambda done: calls.append((done, threading.get_ident())))
        equal((later, len(calls)), (False, number), "False, and the calls before notify returns")
    equal(calls, [(event, threading.get_ident()) for event in events], "their events and threads")


@check("notify")
def notify_is_bound_to_the_version_recorded_now(bench: Bench) -> None:
    (stream, late), calls = bench.streams(2), list[str]()
    first, second = bench.hold(stream), bench.hold(late)
    event = stream.record_event()
    event.notify(lambda _: calls.append("first"))
    event.record(late)
    event.notify(lambda _: calls.append("second"))
    first.release()
    bench.eventually(lambda: calls, "the first notification")
    bench.stays(lambda: bench.virtual or calls == ["first"], "the later record neither delays nor repeats the first")
    second.release()
    bench.eventually(lambda: calls == ["first", "second"], "the second notification")


@check("callback-thread")
def callbacks_may_submit_record_and_wait(bench: Bench) -> None:
    (stream, other), futures = bench.streams(2), list[Future[int]]()

    def go_on(event: Event) -> None:
        other.wait_event(event)
        event.record(other)
        futures.append(other.submit(int, "4"))

    hold = bench.hold(stream)
    stream.record_event().notify(go_on)
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    bench.eventually(lambda: futures, "the notification")
    equal(futures[0].result(bench.timeout), 4, "work that a callback submitted")


@check("callback-thread")
def a_blocking_call_in_a_callback_is_a_usage_error(bench: Bench) -> None:
    stream, outcomes = bench.stream(), list[object]()
    hold = bench.hold(stream)
    future, event = stream.submit(int), stream.record_event()
    calls: tuple[Callable[[], object], ...] = (
        lambda: stream.synchronize(timeout=bench.timeout),
        lambda: event.synchronize(timeout=bench.timeout),
        lambda: synchronize(bench.device, timeout=bench.timeout),
        lambda: future.result(timeout=bench.timeout),
        lambda: stream.close(timeout=bench.timeout),
    )

    def try_all(_: object) -> None:
        for call in calls:
            try:
                outcomes.append(call())
            except UsageError as error:
                outcomes.append(type(error))

    bench.event().notify(try_all)
    equal(outcomes, [UsageError] * len(calls), "blocking calls in a callback, while there is something to wait for")
    hold.release()
    equal(future.result(bench.timeout), 0, "the work itself")
    expect(not stream.closed, "the stream is as it was")


@check("callback-errors")
def a_callback_that_raises_is_logged_and_the_others_are_called(bench: Bench) -> None:
    stream, calls = bench.stream(), list[int]()
    hold = bench.hold(stream)
    future, event = stream.submit(int), stream.record_event()
    with logged("eventide") as records:
        for adds in (event.notify, future.add_done_callback):
            adds(lambda _: boom("in a callback"))
            adds(lambda _: calls.append(1))
        hold.release()
        event.synchronize(timeout=bench.timeout)
        bench.eventually(lambda: len(calls) == 2, "both callbacks behind those that raised")
    equal([type(one.exc_info[1]) for one in records if one.exc_info], [Boom, Boom], "errors in the log")
    equal(stream.submit(int, "1").result(bench.timeout), 1, "work afterwards")


@check("callback-thread")
def done_callbacks_of_a_future_run_once_in_their_order(bench: Bench) -> None:
    stream, calls = bench.stream(), list[tuple[int, str]]()
    hold = bench.hold(stream)
    future = stream.submit(int, "6")

    def note(number: int, done: Future[int]) -> None:
        calls.append((done.result() + number, threading.current_thread().name))

    for number in range(3):
        future.add_done_callback(partial(note, number))
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    bench.eventually(lambda: len(calls) == 3, "three callbacks")
    equal(calls, [(6, NOTIFIER), (7, NOTIFIER), (8, NOTIFIER)], "what they saw, and where")
    future.add_done_callback(lambda done: calls.append((done.result(), "at once")))
    equal(calls[3:], [(6, "at once")], "a callback of a completed Future")
