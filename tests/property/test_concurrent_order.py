"""Host threads that run freely: each has streams of its own and shares the events of all.

Which version a record made and a wait saw is received at the hooks, on the thread of the call. With these the calls are
put into an order in which they can have happened one after the other (if there is none, versions were lost), and the
oracle says from it what must have run, in which order, and which errors reached whom.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from tests.helpers import Background, Boom
from tests.property.device_under_test import DEVICE, LIMIT, examples
from tests.reference.order import Entry, predecessors, violation
from tests.reference.stream_model import Model, State

EVENTS = 2
STREAMS = 2  # of each thread

step = st.tuples(
    st.sampled_from(["submit", "submit", "record", "record", "wait", "wait", "fail", "cancel", "query"]),
    st.integers(0, STREAMS - 1),
    st.integers(0, EVENTS - 1),
)
programs = st.lists(st.lists(step, min_size=4, max_size=25), min_size=2, max_size=4)


class Collector(et.hooks.Observer):  # type: ignore[misc]
    """The version of the last record or wait of each thread."""

    def __init__(self) -> None:
        self.here = threading.local()

    def event_record(self, record: Any) -> None:
        self.here.version = record.version

    def event_wait(self, record: Any) -> None:
        self.here.version = record.version


@dataclass
class Act:
    """A call and its result."""

    verb: str
    stream: int
    event: int = 0
    version: int = 0  # of a record or a wait; 0: the event had not been recorded
    future: et.Future | None = None
    error: Boom | None = None
    victim: Act | None = None  # of a cancel() that said True


@dataclass
class HostThread:
    """The streams of one thread and the calls it made."""

    first: int  # the number of its first stream
    events: list[et.Event]
    collector: Collector
    log: list[Entry | tuple[str, Act]]
    streams: list[et.Stream] = field(default_factory=lambda: [et.Stream(DEVICE) for _ in range(STREAMS)])
    acts: list[Act] = field(default_factory=list)

    def run(self, program: list[tuple[str, int, int]], start: threading.Barrier) -> None:
        start.wait(LIMIT)
        for verb, stream, event in program:
            self._do(verb, stream, event)

    def _do(self, verb: str, stream: int, event: int) -> None:
        act = Act(verb, self.first + stream, event)
        if verb in {"submit", "fail"}:
            act.error = Boom() if verb == "fail" else None
            act.future = self.streams[stream].submit(self._body, act)
        elif verb in {"record", "wait"}:
            self.collector.here.version = 0
            getattr(self.events[event], verb)(self.streams[stream])
            act.version = self.collector.here.version
        elif verb == "cancel":
            queued = [other for other in self.acts if other.future is not None]
            if not queued or not queued[-1].future.cancel():  # type: ignore[union-attr]
                return
            act.victim = queued[-1]
        else:
            self.events[event].query()
        self.acts.append(act)

    def _body(self, act: Act) -> Act:
        self.log.append(("start", act))
        self.log.append(("end", act))
        if act.error is not None:
            raise act.error
        return act


def _in_some_order(threads: list[HostThread], model: Model) -> dict[int, Act]:
    """Pass the calls of all threads to the model in an order that agrees with the versions; work item -> its act."""
    left = [list(thread.acts) for thread in threads]
    nodes: dict[int, Act] = {}
    numbers: dict[int, int] = {}
    moved = True
    while moved:
        moved = False
        for acts in left:
            while acts and _can_happen(acts[0], model):
                act = acts.pop(0)
                moved = True
                if act.future is not None:
                    node = model.submit(act.stream, raises=act.error is not None)
                    nodes[node], numbers[id(act)] = act, node
                elif act.verb == "record":
                    model.record(act.event, act.stream)
                elif act.verb == "wait":
                    model.wait(act.event, act.stream, act.version)
                elif act.victim is not None:
                    model.cancel(numbers[id(act.victim)])
    for thread in threads:
        for event in range(EVENTS):
            seen = [act.version for act in thread.acts if act.event == event and act.verb in {"record", "wait"}]
            assert seen == sorted(seen), f"a thread went back to an older version: {seen}"
    stuck = [acts[0] for acts in left if acts]
    assert not stuck, f"no order of the calls explains these versions: {stuck}"
    return nodes


def _can_happen(act: Act, model: Model) -> bool:
    recorded = len(model.events[act.event])
    if act.verb == "record":
        return act.version == recorded + 1
    return act.verb != "wait" or act.version <= recorded


def _check(threads: list[HostThread], log: list[Any]) -> None:
    model = Model()
    for _ in range(STREAMS * len(threads)):
        model.stream()
    for _ in range(EVENTS):
        model.event()
    nodes = _in_some_order(threads, model)
    model.settle()
    for node, act in nodes.items():
        _check_future(model, node, nodes)
        assert (act.future is not None) and act.future.done()
    numbers = {id(act): node for node, act in nodes.items()}
    order: list[Entry] = [(kind, numbers[id(act)]) for kind, act in log]
    assert violation(predecessors(model), order) is None, (violation(predecessors(model), order), order)
    ran = {node for node, work in model.works.items() if work.state in {State.DONE, State.FAILED}}
    assert {node for kind, node in order if kind == "start"} == ran
    for number, event in enumerate(threads[0].events):
        assert event.version == len(model.events[number])
        marker = model.marker_of(number)
        cause = None if marker is None else marker.cause
        _check_call(lambda event=event: event.synchronize(LIMIT), cause, nodes, original=False)  # type: ignore[misc]
    streams = [stream for thread in threads for stream in thread.streams]
    for number, stream in enumerate(streams):
        _check_call(lambda stream=stream: stream.close(LIMIT), model.close(number), nodes, original=True)  # type: ignore[misc]


def _check_future(model: Model, node: int, nodes: dict[int, Act]) -> None:
    work, act = model.works[node], nodes[node]
    assert act.future is not None
    if work.state is State.CANCELLED:
        assert act.future.cancelled()
    elif work.state is State.DONE:
        assert act.future.result(LIMIT) is act
    else:
        original = work.state is State.FAILED
        _check_call(lambda: act.future.result(LIMIT), work.cause, nodes, original=original)  # type: ignore[union-attr]


def _check_call(call: Callable[[], object], cause: int | None, nodes: dict[int, Act], *, original: bool) -> None:
    try:
        call()
    except (Boom, et.StreamError) as error:
        assert cause is not None, f"raised {error!r}, expected nothing"
        assert (error if original else error.__cause__) is nodes[cause].error
    else:
        assert cause is None, f"nothing raised, expected the error of work {cause}"


@examples(200)
@given(programs)
def test_the_results_of_free_threads_have_a_valid_order(program: list[list[tuple[str, int, int]]]) -> None:
    collector = Collector()
    events = [et.Event(DEVICE) for _ in range(EVENTS)]
    log: list[Any] = []
    threads = [HostThread(STREAMS * number, events, collector, log) for number in range(len(program))]
    start = threading.Barrier(len(program))
    try:
        with et.hooks.observe(collector):
            calls = [
                Background(lambda thread=thread, steps=steps: thread.run(steps, start))  # type: ignore[misc]
                for thread, steps in zip(threads, program, strict=True)
            ]
            for call in calls:
                call.result()
        _check(threads, log)
    finally:
        for thread in threads:
            for stream in thread.streams:
                if not stream.closed:
                    _quietly_close(stream)


def _quietly_close(stream: et.Stream) -> None:
    try:
        stream.close(LIMIT)
    except Exception:
        return
