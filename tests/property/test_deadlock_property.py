"""Work that blocks on other streams: every cycle is broken by exactly one DeadlockError, and nothing else raises."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from tests.property.device_under_test import DEVICE, GATES, LIMIT, examples
from tests.reference.deadlock import cycles

pytestmark = pytest.mark.skipif(not GATES, reason="work does not run on threads of the device's own")

MOST = 5
KINDS = ("event", "stream", "future")

plans = st.integers(1, MOST).flatmap(
    lambda count: st.tuples(
        st.lists(
            st.none() | st.tuples(st.sampled_from(KINDS), st.integers(0, count - 1)), min_size=count, max_size=count
        ),
        st.permutations(range(count)),
    )
)


@dataclass
class Ring:
    """Streams of which each has one work item that blocks on another one, behind a gate."""

    plan: list[tuple[str, int] | None]
    streams: list[et.Stream] = field(default_factory=list)
    events: list[et.Event] = field(default_factory=list)
    gates: list[threading.Event] = field(default_factory=list)
    futures: list[et.Future] = field(default_factory=list)
    deadlocks: dict[int, str] = field(default_factory=dict)

    def build(self) -> None:
        for number in range(len(self.plan)):
            self.gates.append(threading.Event())
            self.streams.append(et.Stream(DEVICE))
            self.futures.append(self.streams[-1].submit(self._body, number))
            self.events.append(self.streams[-1].record_event())

    def _body(self, number: int) -> int:
        assert self.gates[number].wait(LIMIT)
        step = self.plan[number]
        if step is not None:
            try:
                self._block(*step)
            except et.DeadlockError as error:
                self.deadlocks[number] = str(error)
        return number

    def _block(self, kind: str, target: int) -> None:
        if kind == "event":
            self.events[target].synchronize(LIMIT)
        elif kind == "stream":
            self.streams[target].synchronize(LIMIT)
        else:
            self.futures[target].result(LIMIT)

    def finish(self) -> None:
        for gate in self.gates:
            gate.set()
        for stream in self.streams:
            stream.close(LIMIT)


@examples(80)
@given(plans)
def test_each_cycle_costs_one_deadlock_error(drawn: tuple[list[tuple[str, int] | None], list[int]]) -> None:
    plan, order = drawn
    ring = Ring(plan)
    try:
        ring.build()
        for number in order:
            ring.gates[number].set()
        assert [future.result(LIMIT) for future in ring.futures] == list(range(len(plan)))
    finally:
        ring.finish()
    expected = cycles({number: step[1] for number, step in enumerate(plan) if step is not None})
    raised = [frozenset(ring.deadlocks) & cycle for cycle in expected]
    assert [len(numbers) for numbers in raised] == [1] * len(expected), (ring.deadlocks, expected)
    assert len(ring.deadlocks) == len(expected), (ring.deadlocks, expected)
    for cycle, numbers in zip(expected, raised, strict=True):
        message = ring.deadlocks[min(numbers)]
        for number in cycle:
            assert str(ring.streams[number].stream_id) in message, message
