"""asyncio: awaiting blocks no loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from eventide.errors import StreamError, UsageError
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import Boom, boom


async def _wait(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


@check("await-does-not-block-the-loop")
def awaiting_an_event_a_stream_or_a_future_lets_the_loop_run(bench: Bench) -> None:
    async def main() -> list[object]:
        stream = bench.stream()
        hold = bench.hold(stream)
        future, event = stream.submit(int, "3"), stream.record_event()
        tasks = [asyncio.create_task(_wait(thing)) for thing in (event, stream, future)]
        for _ in range(5):
            await asyncio.sleep(0)
        expect(bench.virtual or not any(task.done() for task in tasks), "all three are pending while the loop runs")
        hold.release()  # on the loop's own thread
        return list(await asyncio.gather(*tasks))

    equal(bench.run_loop(main()), [None, None, 3], "what the three gave")


@check("await-does-not-block-the-loop")
def awaiting_what_is_over_or_was_never_recorded_returns(bench: Bench) -> None:
    async def main() -> int:
        stream = bench.stream()
        future, event = stream.submit(int, "3"), stream.record_event()
        stream.synchronize(timeout=bench.timeout)
        await event
        await stream
        await bench.event()
        return await future

    equal(bench.run_loop(main()), 3, "the value")


@check("await-raises")
def awaiting_a_failure_raises_it(bench: Bench) -> None:
    stream = bench.stream()

    async def main() -> object:
        future, event = stream.submit(boom), stream.record_event()
        got = []
        for thing in (event, event, future, stream):
            try:
                await thing
            except (Boom, StreamError) as error:
                got.append(type(error))
        return got

    equal(bench.run_loop(main()), [StreamError, StreamError, Boom, Boom], "an event twice, its Future, its stream")


@check("await-raises", "concurrent")
def a_cancelled_await_loses_no_error(bench: Bench) -> None:
    stream = bench.stream()
    hold = bench.hold(stream)
    stream.submit(boom)

    async def main() -> None:
        task = asyncio.create_task(_wait(stream))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        expect(task.cancelled(), "the await was cancelled")

    bench.run_loop(main())
    hold.release()
    raises(Boom, lambda: stream.synchronize(timeout=bench.timeout), "synchronize after the cancelled await")


@check("current-stream-across-await")
def with_stream_across_an_await_that_interleaves_is_a_usage_error(bench: Bench) -> None:
    stream, other = bench.streams(2)

    async def main() -> BaseException | None:
        first_in, second_in = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            with stream:
                first_in.set()
                await second_in.wait()

        async def second() -> None:
            await first_in.wait()
            with other:
                second_in.set()
                await asyncio.gather(task, return_exceptions=True)

        task = asyncio.create_task(first())
        await asyncio.gather(second(), return_exceptions=True)
        return task.exception()

    error = bench.run_loop(main())
    expect(isinstance(error, UsageError), f"leaving the first block is a UsageError, not {error!r}")
    expect("await" in str(error), f"the error names the await, unlike {str(error)!r}")
