"""Every time that `sim` gives is the one that a naive computation gives, for any program and any limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.backends import MarkerState, Sim
from tests.property.device_under_test import LIMIT, examples
from tests.reference.sim_oracle import SimOracle
from tests.sim_driver import FakeWork

STREAMS = [0, 0, 0, 0, 1]  # the device of each: most share one, so that limits matter

place = st.integers(0, len(STREAMS) - 1)
which = st.integers(0, 50)  # the last but so many
duration = st.sampled_from([0, 1, 3, 8, 12, 20])  # ns; a call takes some, so ends and starts often fall together
step = st.one_of(
    st.tuples(st.sampled_from(["submit"] * 5 + ["copy"] * 2), place, duration),
    st.tuples(st.sampled_from(["record", "record", "gate", "flush"]), place, st.just(0)),
    st.tuples(st.sampled_from(["wait", "wait", "wait", "query", "join", "open"]), place, which),
)
programs = st.lists(step, min_size=5, max_size=50)
limits = st.one_of(st.none(), st.integers(1, 3))


class Pair:
    """The simulator and the oracle, given the same calls."""

    def __init__(self, limit: int | None, copy_limit: int | None, cost: int) -> None:
        self.sim = Sim(2, limit=limit, copy_limit=copy_limit, host_cost=cost * 1e-9)
        self.oracle = SimOracle(STREAMS, limit, copy_limit, cost)
        self.streams = [self.sim.open_stream(device, 0) for device in STREAMS]
        self.works: dict[int, FakeWork] = {}
        self.markers: dict[int, object] = {}
        self.gates: dict[int, object] = {}

    def play(self, program: list[tuple[str, int, int]]) -> None:
        for verb, stream, value in program:
            self.do(verb, stream, value)
            assert self.sim.now(0) == self.oracle.clock, (verb, stream, value)
        for node in list(self.gates):
            self.open(node)
        for index in range(len(STREAMS)):
            self.do("record", index, 0)
            self.join(max(self.markers))

    def do(self, verb: str, index: int, value: int) -> None:
        stream = self.streams[index]
        if verb in {"submit", "copy"}:
            work = FakeWork(self.sim, value * 1e-9, verb)
            self.works[self.oracle.submit(index, value, verb == "copy")] = work
            self.sim.submit(stream, work)
        elif verb == "record":
            self.markers[self.oracle.record(index)] = self.sim.make_marker(stream, True)
        elif verb == "gate":
            self.gates[self.oracle.gate(index)] = self.sim.gate(stream)
        elif verb == "flush":
            self.sim.flush(stream)
        elif verb == "open" and self.gates:
            self.open(sorted(self.gates)[-1 - value % len(self.gates)])
        elif self.markers and verb != "open":
            self.with_marker(verb, index, sorted(self.markers)[-1 - value % len(self.markers)])

    def with_marker(self, verb: str, index: int, node: int) -> None:
        if verb == "wait":
            self.oracle.wait(index, node)
            self.sim.wait(self.streams[index], self.markers[node])
        elif verb == "join" and node in self.oracle.solve().end:
            self.join(node)
        else:
            self.sim.flush(self.streams[index])  # which the core calls after everything that queues
            assert (self.sim.poll(self.markers[node]) is MarkerState.DONE) == self.oracle.query(node)

    def open(self, gate: int) -> None:
        self.oracle.open(gate)
        self.sim.open(self.gates.pop(gate))

    def join(self, node: int) -> None:
        self.oracle.join(node)
        self.sim.join(self.markers[node], LIMIT)
        assert self.sim.poll(self.markers[node]) is MarkerState.DONE

    def times(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        starts = {node: work.ran_at for node, work in self.works.items()}
        return starts, {node: self.sim.completed_at(marker) for node, marker in self.markers.items()}

    def expected(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        answer = self.oracle.solve()
        return {node: [answer.start[node]] for node in self.works}, {node: answer.end[node] for node in self.markers}


@examples(300)
@given(programs, limits, limits, st.integers(1, 4))
def test_all_times_are_those_of_the_oracle(program, limit, copy_limit, cost):
    pair = Pair(limit, copy_limit, cost)
    pair.play(program)
    assert pair.times() == pair.expected()


@examples(100)
@given(programs)
def test_with_free_calls_and_no_limit_all_times_are_those_of_the_oracle(program):
    pair = Pair(None, None, 0)
    pair.play(program)
    assert pair.times() == pair.expected()


FREE = "sim_with_free_calls"  # how many calls the core makes for a verb is then no matter
ONE = "sim_one_at_a_time"
registered: dict[str, Sim] = {}


def device(name: str) -> Sim:
    """Devices are registered for the life of the process, so all examples share these two and their clocks."""
    if name not in registered:
        registered[name] = Sim(2, host_cost=0, limit=1 if name == ONE else None)
        et.Device.register(registered[name], name=name)
    return registered[name]


core_step = st.tuples(st.sampled_from(["submit", "submit", "record", "wait", "join"]), place, duration)


@examples(100)
@given(st.lists(core_step, min_size=3, max_size=40), st.sampled_from([FREE, ONE]))
def test_streams_and_events_on_it_have_the_times_of_the_oracle(program, name):
    begin = device(name).now(0)
    oracle = SimOracle(STREAMS, 1 if name == ONE else None, None, 0)
    streams = [et.Stream(f"{name}:{index}") for index in STREAMS]
    events: dict[int, et.Event] = {}
    for verb, index, value in [*program, *(("record", index, 0) for index in range(len(STREAMS)))]:
        if verb == "submit":
            streams[index].submit(et.work(int, duration=value * 1e-9))
            oracle.submit(index, value, copy=False)
        elif verb == "record":
            event = et.Event(enable_timing=True)
            event.record(streams[index])
            events[oracle.record(index)] = event
        elif events:
            node = sorted(events)[-1 - value % len(events)]
            if verb == "wait":
                events[node].wait(streams[index])
                oracle.wait(index, node)
            else:
                events[node].synchronize(LIMIT)
                oracle.join(node)
                assert device(name).now(0) - begin == oracle.clock
    for stream in streams:
        stream.close(LIMIT)
    answer = oracle.solve()
    assert {node: event.completed_at - begin for node, event in events.items()} == {
        node: answer.end[node] for node in events
    }
