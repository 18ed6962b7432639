"""`await` on events, streams and futures never blocks the loop."""

import asyncio

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, boom, run_loop, waiting_for

AWAITED = {
    "event": lambda stream, future: stream.record_event(),
    "stream": lambda stream, future: stream,
    "future": lambda stream, future: future,
}


@pytest.mark.parametrize("kind", AWAITED)
def test_await_lets_the_loop_run_meanwhile(stream, gate, kind):
    # known failure 25: no await
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
def test_await_on_what_is_done_already_returns(stream, kind):
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


def test_many_tasks_may_await_one_thing(stream, gate):
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
