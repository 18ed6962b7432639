"""Random programs over an EventPool against a stack of ids: reuse, ids for life, unknown ids, release while pending."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import eventide as et
from tests.helpers import Background
from tests.property.device_under_test import DEVICE, GATES, LIMIT, examples
from tests.reference.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

which = st.integers(0, 15)


@dataclass
class Held:
    """An event in use: by object (`event`), or by id."""

    model: int
    event: et.Event | None
    recorded: bool = False
    gate: threading.Event | None = None  # what its version waits for, until it is open


class PoolMachine(RuleBasedStateMachine):
    """One pool, one stream that can be held, one that is always free."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = et.EventPool(DEVICE)
        self.model = Pool()
        self.held: list[Held] = []
        self.ids: dict[int, int] = {}  # the model's number -> the real id, once it is known
        self.busy, self.free = et.Stream(DEVICE), et.Stream(DEVICE)
        self.gate: threading.Event | None = None

    # --- in use --------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.held) < 6)
    @rule(timing=st.booleans())
    def acquire(self, timing: bool) -> None:
        """A reused event does not differ from a new one."""
        event = self.pool.acquire(enable_timing=timing)
        self._fresh(event)
        self.held.append(Held(self.model.acquire(), event))

    @precondition(lambda self: len(self.held) < 6)
    @rule(timing=st.booleans())
    def acquire_id(self, timing: bool) -> None:
        number, real = self.model.acquire(), self.pool.acquire_id(enable_timing=timing)
        assert real > 0
        self._know(number, real)
        assert self.pool.query(real)
        self.pool.synchronize(real, timeout=LIMIT)
        self.held.append(Held(number, None))

    def _fresh(self, event: et.Event) -> None:
        assert (event.event_id, event.version) == (0, 0)
        assert event.query()
        event.synchronize(LIMIT)
        event.wait(self.free)
        assert self.free.submit(int).result(LIMIT) == 0, "a wait for an event that is not recorded does nothing"

    def _know(self, number: int, real: int) -> None:
        """An id is kept for life, and no two events have the same."""
        assert self.ids.setdefault(number, real) == real
        assert len(set(self.ids.values())) == len(self.ids)

    @precondition(lambda self: self.held)
    @rule(index=which, held_back=st.booleans())
    def record(self, index: int, held_back: bool) -> None:
        held = self.held[index % len(self.held)]
        stream = self.busy if held_back else self.free
        if held.event is None:
            self.pool.record(self.ids[held.model], stream)
        elif held_back:
            self.pool.record(held.event, stream)
        else:
            held.event.record(stream)
        if held.event is not None:
            self._know(held.model, held.event.event_id)
        held.recorded = True
        held.gate = self.gate if held_back else None

    @rule()
    def hold_the_busy_stream(self) -> None:
        if GATES and self.gate is None:
            gate = self.gate = threading.Event()
            self.busy.submit(gate.wait, LIMIT)

    @rule()
    def let_it_go(self) -> None:
        if self.gate is not None:
            self.gate.set()
            self.gate = None
            self.busy.synchronize(LIMIT)

    # --- questions -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(index=which)
    def ask(self, index: int) -> None:
        held = self.held[index % len(self.held)]
        name: et.Event | int = self.ids[held.model] if held.event is None else held.event
        if held.gate is not None and not held.gate.is_set():
            assert not self.pool.query(name)
            with pytest.raises(TimeoutError):
                self.pool.synchronize(name, timeout=0.001)
        else:
            self.pool.synchronize(name, timeout=LIMIT)
            assert self.pool.query(name)
            self.pool.wait(name, self.free)
            assert self.free.submit(int).result(LIMIT) == 0

    @rule(elsewhere=st.booleans())
    def unknown_ids_are_errors_and_the_pool_lives_on(self, elsewhere: bool) -> None:
        verbs: list[Callable[[int], object]] = [
            self.pool.query,
            self.pool.release,
            lambda name: self.pool.synchronize(name, timeout=LIMIT),
            lambda name: self.pool.record(name, self.free),
            lambda name: self.pool.wait(name, self.free),
            lambda name: self.pool.elapsed_time(name, name),
        ]
        released = [self.ids[number] for number in self.model.free if number in self.ids]
        for name in (10**9, *released[-1:]):
            for verb in verbs:
                with pytest.raises(et.EventError, match=str(name)):
                    verb(name)
        if elsewhere:
            assert Background(self.pool.stats).result() == self.pool.stats()

    # --- and back ------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.held)
    @rule(index=which, how=st.sampled_from(["drop", "release", "release by id"]))
    def give_back(self, index: int, how: str) -> None:
        """Even while the recorded version is pending."""
        held = self.held.pop(index % len(self.held))
        if held.event is None:
            self.pool.release(self.ids[held.model])
        elif how == "release" or (how == "release by id" and not held.recorded):
            self.pool.release(held.event)
        elif how == "release by id":
            self.pool.release(held.event.event_id)
        held.event = None  # the last reference: an event that was not released returns now, one that was does not again
        self.model.release(held.model)

    @rule()
    def empty_cache(self) -> None:
        self.pool.empty_cache()
        for number in self.model.free:
            self.ids.setdefault(number, -1 - number)  # gone for good, with an id that was possibly never returned
        self.model.empty_cache()

    @invariant()
    def counts_agree(self) -> None:
        stats = self.pool.stats()
        assert (stats.created, stats.in_use, stats.cached, stats.reused) == self.model.stats()

    def teardown(self) -> None:
        self.let_it_go()
        self.held.clear()
        self.busy.close(LIMIT)
        self.free.close(LIMIT)


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = examples(80)
