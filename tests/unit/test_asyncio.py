"""`await` on events, streams and futures never blocks the loop; a cancelled await loses nothing."""

import asyncio
import gc
import logging

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, boom, root_cause, run_loop, waiting_for

AWAITED = {
    "event": lambda stream, future: stream.record_event(),
    "stream": lambda stream, future: stream,
    "future": lambda stream, future: future,
}


@pytest.mark.parametrize("kind", AWAITED)
def test_await_lets_the_loop_run_meanwhile(stream, gate, kind):
    async def main():
        future = gate.hold(stream, "value")
        task = await waiting_for(AWAITED[kind](stream, future))
        gate.open()  # by the loop, which the await did not block
        return await task, future.done()

    value, done = run_loop(main())
    assert done is True
    if kind == "future":
        assert value == "value"


@pytest.mark.parametrize("kind", AWAITED)
def test_await_on_completed_subjects_returns(stream, kind):
    async def main():
        future = stream.submit(int, "3")
        stream.synchronize(timeout=TIMEOUT)
        await AWAITED[kind](stream, future)
        return await future

    assert run_loop(main()) == 3


def test_await_on_a_never_recorded_event_returns():
    async def main():
        await et.Event("cpu")
        return "back"

    assert run_loop(main()) == "back"


def test_await_on_a_future_raises_the_error_of_its_work(stream):
    async def main():
        await stream.submit(boom, "awaited")

    with pytest.raises(Boom, match="awaited"):
        run_loop(main())


def test_await_on_a_failed_event_raises_every_time(stream, gate):
    error = Boom("first")

    async def main():
        gate.hold(stream, error)
        event = stream.record_event()
        gate.open()
        causes = []
        for _ in range(2):
            try:
                await event
            except et.StreamError as refusal:
                causes.append(refusal.__cause__)
        return causes

    assert run_loop(main()) == [error, error]


def test_await_on_a_stream_raises_its_first_error_once_and_heals_it(stream, gate):
    error = Boom("first")

    async def main():
        gate.hold(stream, error)
        task = await waiting_for(stream)
        gate.open()
        with pytest.raises(Boom) as caught:
            await task
        await stream
        return caught.value, await stream.submit(int, "4")

    assert run_loop(main()) == (error, 4)


def test_await_binds_to_the_version_recorded_when_it_begins(stream, other, make_gate):
    first, second = make_gate(), make_gate()

    async def main():
        first.hold(stream)
        second.hold(other)
        event = stream.record_event()
        task = await waiting_for(event)
        event.record(other)
        first.open()
        await task
        return event.query()

    assert run_loop(main()) is False


def test_many_tasks_may_await_one_subject(stream, gate):
    async def main():
        future = gate.hold(stream, "all")
        event = stream.record_event()
        tasks = [await waiting_for(thing) for thing in (event, event, stream, stream, future, future)]
        gate.open()
        await asyncio.gather(*tasks)
        return future.result(0)

    assert run_loop(main()) == "all"


def test_wrap_future_and_gather_take_futures_of_streams(stream, other):
    async def main():
        futures = [target.submit(int, number) for number in range(10) for target in (stream, other)]
        return await asyncio.gather(*(asyncio.wrap_future(future) for future in futures))

    assert run_loop(main()) == [number for number in range(10) for _ in range(2)]


def test_two_loops_may_await_one_event(stream, gate):
    gate.hold(stream)
    event = stream.record_event()

    async def main():
        await event
        return event.query()

    loops = [Background(lambda: asyncio.run(main())) for _ in range(2)]
    gate.open()
    assert [loop.result() for loop in loops] == [True, True]


@pytest.mark.parametrize("kind", ["event", "stream"])
def test_a_cancelled_await_does_not_change_the_stream(stream, gate, kind):
    error = Boom("not lost")

    async def main():
        gate.hold(stream, error)
        task = await waiting_for(stream.record_event() if kind == "event" else stream)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_loop(main())
    behind = stream.submit(int)
    gate.open()
    assert root_cause(behind.exception(TIMEOUT)) is error
    with pytest.raises(Boom) as caught:  # a cancelled await of the stream saw no error, so it is still there
        stream.synchronize(timeout=TIMEOUT)
    assert caught.value is error


def test_a_cancelled_await_on_a_running_future_does_not_stop_the_work(stream, gate):
    async def main():
        future = gate.hold(stream, "finished")
        task = await waiting_for(future)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return future

    future = run_loop(main())
    gate.open()
    assert future.result(TIMEOUT) == "finished"


def test_closing_the_loop_before_the_event_completes_is_harmless(stream, gate, caplog):
    async def main():
        gate.hold(stream)
        tasks = [await waiting_for(thing) for thing in (stream.record_event(), stream)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_loop(main())
    with caplog.at_level(logging.WARNING):
        gate.open()
        stream.synchronize(timeout=TIMEOUT)
        notified = run_loop(stream.submit(int, "5"))  # behind it on the notifier
        gc.collect()
    assert notified == 5
    assert caplog.records == []


def test_with_stream_across_an_await_works_when_nothing_interleaves(stream):
    async def main():
        with stream:
            await stream.submit(int)
            inside = et.current_stream()
        return inside, et.current_stream()

    inside, after = run_loop(main())
    assert inside == stream
    assert after == et.default_stream("cpu")


def test_coroutines_that_name_their_streams_do_not_mix(stream, other):
    async def user(target):
        return [await target.submit(et.current_stream) for _ in range(20)]

    async def main():
        return await asyncio.gather(user(stream), user(other))

    assert run_loop(main()) == [[stream] * 20, [other] * 20]
