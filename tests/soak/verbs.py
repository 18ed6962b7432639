"""One host thread of a round: draws verbs at random until the deadline."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable

import eventide as et
from tests.helpers import Boom, root_cause
from tests.soak.ledger import LIMIT
from tests.soak.soak_round import STREAMS, Round


class Thread:
    """It owns two of the shared streams, and makes streams of its own whose outcome is determined."""

    def __init__(self, round_: Round, number: int, seed: int) -> None:
        self.round, self.ledger, self.random = round_, round_.ledger, random.Random(seed)
        self.owned = round_.streams[number * STREAMS : (number + 1) * STREAMS]
        self.counts: Counter[str] = Counter()
        weights: dict[Callable[[], None], int] = {
            self.submit: 30,
            self.fail: 1,
            self.cancel: 3,
            self.record: 12,
            self.wait: 8,
            self.wait_for_stream: 3,
            self.query: 10,
            self.notify: 4,
            self.synchronize: 4,
            self.synchronize_event: 4,
            self.time: 2,
            self.current: 4,
            self.pool: 4,
            self.copy: 2,
            self.close: 1,
            self.drop: 1,
            self.bridge: 2,
            self.awaits: 1,
            self.own_error: 1,
        }
        self.verbs = [verb for verb, weight in weights.items() for _ in range(weight)]

    def run(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                verb = self.random.choice(self.verbs)
                verb()
                self.counts[verb.__name__] += 1
        except BaseException as error:
            self.ledger.wrong.append(f"{verb.__name__} raised {error!r} (cause {root_cause(error)!r})")

    def any_stream(self) -> et.Stream:
        return self.random.choice(self.round.streams)

    def any_event(self) -> et.Event:
        return self.random.choice(self.round.events)

    def submit(self) -> None:
        self.round.submit(self.any_stream(), self.random)

    def fail(self) -> None:
        self.round.submit(self.any_stream(), self.random, fail=True)

    def cancel(self) -> None:
        item = self.round.submit(self.any_stream(), self.random)
        if item is not None and item.future is not None:
            item.cancelled = True  # before the call: its callback may run inside
            item.cancelled = item.future.cancel()

    def record(self) -> None:
        self.round.record(self.any_event(), self.any_stream())

    def wait(self) -> None:
        self.any_event().wait(self.any_stream())

    def wait_for_stream(self) -> None:
        self.any_stream().wait_stream(self.any_stream())

    def query(self) -> None:
        self.any_event().query()
        self.any_stream().query()

    def notify(self) -> None:
        slot, number = [0], self.random.randrange(1000)
        self.ledger.notified.append(slot)

        def notified(event: et.Event) -> None:
            slot[0] += 1
            if number % 2:
                self.round.poke(number)

        self.any_event().notify(notified)

    def synchronize(self) -> None:
        stream = self.random.choice(self.owned)
        self.round.drained(stream.synchronize, stream)

    def synchronize_event(self) -> None:
        try:
            self.any_event().synchronize(LIMIT)
        except et.StreamError as error:
            if not self.ledger.expected(error):
                raise

    def time(self) -> None:
        if not self.round.capabilities.timing:
            return
        stream = et.Stream(self.round.device)
        start, end = (et.Event(self.round.device, enable_timing=True) for _ in range(2))
        start.record(stream)
        stream.submit(time.sleep, 0)
        end.record(stream)
        end.synchronize(LIMIT)
        if start.elapsed_time(end) < 0 or start.completed_at > end.completed_at:
            self.ledger.wrong.append(f"time runs backwards: {start.elapsed_time(end)} ms")
        stream.close(LIMIT)

    def current(self) -> None:
        before, inner, outer = et.current_stream(self.round.device), self.any_stream(), self.any_stream()
        with outer:
            with inner:
                inside = et.current_stream(self.round.device)
            behind = et.current_stream(self.round.device)
        if (inside, behind, et.current_stream(self.round.device)) != (inner, outer, before):
            self.ledger.wrong.append(f"the current stream was {inside!r} inside of {inner!r}")

    def pool(self) -> None:
        pool, stream = self.round.pool, self.any_stream()
        if self.random.random() < 0.5:
            event = pool.acquire(enable_timing=self.random.random() < 0.5)
            event.record(stream)
            event.wait(self.any_stream())
        else:
            number = pool.acquire_id()
            pool.record(number, stream)
            pool.query(number)
            pool.release(number)

    def copy(self) -> None:
        if not self.round.capabilities.copy:
            return
        data, back = self.random.randbytes(256), bytearray(256)
        stream, buffer = et.Stream(self.round.device), et.empty(256, device=self.round.device)
        stream.copy(buffer, data)
        stream.copy(back, buffer)
        stream.close(LIMIT)
        if bytes(back) != data:
            self.ledger.wrong.append("a copy to the device and back changed the bytes")
        buffer.free()

    def close(self) -> None:
        stream = et.Stream(self.round.device)
        ran: list[int] = []
        futures = [stream.submit(ran.append, number) for number in range(5)]
        stream.close(LIMIT)
        if ran != list(range(5)) or not all(future.done() for future in futures):
            self.ledger.wrong.append(f"close returned before its work was complete: {ran}")
        try:
            stream.submit(int)
        except et.StreamError:
            return
        self.ledger.wrong.append("a closed stream took work")

    def drop(self) -> None:
        """What is queued in a stream that is dropped still runs."""
        future = et.Stream(self.round.device).submit(int, "7")
        if future.result(LIMIT) != 7:
            self.ledger.wrong.append("work of a dropped stream gave another value")

    def bridge(self) -> None:
        """Waits between this device and the cpu, both ways, where the device can be held."""
        ours = self.any_stream()
        if self.round.capabilities.gate and self.round.device.type != "cpu":
            ours.wait_event(self.round.cpu.record_event())
        own = et.Stream("cpu")
        own.wait_event(et.Stream(self.round.device).record_event())
        own.close(LIMIT)

    def awaits(self) -> None:
        device, submit = self.round.device, self.round.submit

        async def program() -> None:
            stream = et.Stream(device)
            items = [submit(stream, self.random) for _ in range(3)]
            event = stream.record_event()
            values = await asyncio.gather(*(asyncio.wrap_future(item.future) for item in items if item and item.future))
            await event
            await stream
            if values != [item.number for item in items if item]:
                self.ledger.wrong.append(f"awaited futures gave {values}")
            abandoned = asyncio.ensure_future(asyncio.wait_for(asyncio.wrap_future(stream.submit(int)), LIMIT))
            await asyncio.sleep(0)
            abandoned.cancel()
            await asyncio.gather(abandoned, return_exceptions=True)
            stream.close(LIMIT)

        asyncio.run(program())

    def own_error(self) -> None:
        """A stream of this thread alone: the error is in its Future, is raised once, and the stream heals."""
        stream, error = et.Stream(self.round.device), Boom("own")

        def raise_it() -> None:
            raise error

        first, failed = stream.submit(int, "1"), stream.submit(raise_it)
        raised = []
        for _ in range(2):
            try:
                stream.synchronize(LIMIT)
            except Boom as caught:
                raised.append(caught)
        if raised != [error] or failed.exception(LIMIT) is not error or first.result(LIMIT) != 1:
            self.ledger.wrong.append(f"an error was raised {len(raised)} times")
        if stream.submit(int, "2").result(LIMIT) != 2:
            self.ledger.wrong.append("a stream did not heal")
        stream.close(LIMIT)
