"""What the threads of one round share: streams, events, a pool, hooks that call back, and the ledger."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import eventide as et
from tests.helpers import Boom
from tests.soak.ledger import LIMIT, Item, Ledger

THREADS = 4
STREAMS = 2  # that each thread owns: only the owner synchronizes it, so the errors it received are determined
EVENTS = 6
HOOKS = ("work_submission", "work_completion", "event_record", "event_wait", "stream_synchronization")


class Round:
    """One round on one device."""

    def __init__(self, device: et.Device, seed: int) -> None:
        self.device, self.random = device, random.Random(seed)
        self.capabilities = device.capabilities
        self.ledger = Ledger(self.capabilities.deferred)
        limits = [None, 3]
        self.streams = [et.Stream(device, max_pending=limits[n % 2]) for n in range(THREADS * STREAMS)]
        self.free = [stream for stream in self.streams if stream.max_pending is None]  # submit never blocks there
        self.events = [et.Event(device, enable_timing=n % 2 == 0) for n in range(EVENTS)]
        self.pool = et.EventPool(device)
        self.cpu = et.Stream("cpu")
        self.inside = threading.local()  # .hook: this thread runs one of our hooks

    def submit(self, stream: et.Stream, rng: random.Random, *, fail: bool = False, ordered: bool = True) -> Item | None:
        """Submit an item; None if the stream has an error and its device immediate: such a one refuses."""
        number = next(self.ledger.numbers)
        error = Boom(str(number)) if fail else None
        item = Item(number, stream.stream_id, threading.get_ident(), error, ordered)
        act = rng.randrange(12)
        try:
            item.future = stream.submit(self.body, item, act)
        except et.StreamError as refused:
            if self.capabilities.deferred or not self.ledger.expected(refused):
                raise
            return None
        self.ledger.items.append(item)

        def called(future: et.Future[Any]) -> None:
            item.called += 1
            if act == 0:
                self.poke(number)

        item.future.add_done_callback(called)
        return item

    def body(self, item: Item, act: int) -> int:
        """The work itself; one in three does something with the runtime."""
        self.ledger.began(item)
        try:
            if act < 3:
                self.poke(item.number)
            elif act == 3 and item.ordered:
                self.submit(self.free[item.number % len(self.free)], random.Random(item.number), ordered=False)
            elif act == 4:
                time.sleep(0)
            if item.error is not None:
                raise item.error
            return item.number
        finally:
            self.ledger.ended(item)

    def poke(self, number: int) -> None:
        """Calls that never block, from anywhere: work, callbacks, hooks."""
        event, stream = self.events[number % EVENTS], self.streams[number % len(self.streams)]
        event.query()
        stream.query()
        if number % 3 == 0:
            self.record(event, stream)
        elif number % 3 == 1:
            et.Event(self.device).record(stream)

    def record(self, event: et.Event, stream: et.Stream) -> None:
        """Record a shared event."""
        event.record(stream)
        self.ledger.recorded.append(event._id)

    def hook(self, *arguments: Any) -> None:
        """Calls back into the runtime from inside a hook, one level deep."""
        if getattr(self.inside, "hook", False):
            return
        self.inside.hook = True
        try:
            number = next(self.ledger.numbers)
            self.streams[number % len(self.streams)].query()
            if number % 5 == 0:
                self.poke(number)
            elif number % 11 == 0:
                self.submit(self.free[number % len(self.free)], random.Random(number), ordered=False)
        finally:
            self.inside.hook = False

    @contextlib.contextmanager
    def hooked(self) -> Iterator[None]:
        """Our hooks are in, and none of them raises."""
        errors = [et.hooks.on(name, self.hook) for name in HOOKS]
        before = self._hook_errors()
        yield
        for subscription in errors:
            subscription.close()
        if self._hook_errors() != before:
            self.ledger.wrong.append(f"hooks raised {self._hook_errors() - before} times")

    @staticmethod
    def _hook_errors() -> int:
        return sum(et.hooks.statistics(name)["errors"] for name in HOOKS)

    def drained(self, call: Any, stream: et.Stream) -> None:
        """synchronize or close; an error of work that was made to fail is noted, any other is raised."""
        try:
            call(LIMIT)
        except (Boom, et.StreamError) as error:
            if not self.ledger.expected(error):
                raise
            self.ledger.raised.append(stream.stream_id)

    def finish(self) -> None:
        """Drain everything: work submits work, so until nothing new comes; then callbacks; then the check."""
        count = -1
        while count != len(self.ledger.items):
            count = len(self.ledger.items)
            for stream in [*self.streams, self.cpu]:
                self.drained(stream.synchronize, stream)
            self._callbacks_are_over()
        self.ledger.check(self.events)
        for stream in [*self.streams, self.cpu]:
            self.drained(stream.close, stream)

    def dismantle(self) -> None:
        """Drop what carries errors: the frames of failed work have this round, and an error that several objects carry
        is not collected with them.
        """
        self.pool.empty_cache()
        self.events.clear()
        self.ledger.items.clear()

    def _callbacks_are_over(self) -> None:
        """They run one after the other on one thread: one that is registered now runs last."""
        held, over = threading.Event(), threading.Event()
        self.cpu.submit(held.wait, LIMIT).add_done_callback(lambda future: over.set())
        held.set()
        if not over.wait(LIMIT):
            self.ledger.wrong.append("the notifier thread is stuck")
