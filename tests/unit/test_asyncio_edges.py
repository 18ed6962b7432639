"""Cancelled awaits lose nothing, and `with s:` held across an await that interleaves is an error."""

import asyncio
import gc
import logging

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, root_cause, run_loop, waiting_for


@pytest.mark.parametrize("kind", ["event", "stream"])
def test_a_cancelled_await_leaves_the_stream_as_it_was(stream, gate, kind):
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


def test_a_loop_that_is_closed_before_the_event_is_done_breaks_nothing(stream, gate, caplog):
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


def test_with_stream_across_an_await_is_fine_when_nothing_interleaves(stream):
    async def main():
        with stream:
            await stream.submit(int)
            inside = et.current_stream()
        return inside, et.current_stream()

    inside, after = run_loop(main())
    assert inside == stream
    assert after == et.default_stream("cpu")


def test_with_stream_across_an_await_that_interleaves_is_a_usage_error_at_exit(stream, other):
    async def main():
        first_in, second_in = asyncio.Event(), asyncio.Event()

        async def first():
            with stream:
                first_in.set()
                await second_in.wait()

        async def second():
            await first_in.wait()
            with other:
                second_in.set()
                await asyncio.gather(task, return_exceptions=True)

        task = asyncio.create_task(first())
        await asyncio.gather(second(), return_exceptions=True)
        return task.exception()

    error = run_loop(main())
    assert isinstance(error, et.UsageError)
    assert "await" in str(error)


def test_coroutines_that_name_their_streams_do_not_mix(stream, other):
    async def user(target):
        return [await target.submit(et.current_stream) for _ in range(20)]

    async def main():
        return await asyncio.gather(user(stream), user(other))

    assert run_loop(main()) == [[stream] * 20, [other] * 20]
