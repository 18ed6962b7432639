"""Spans, instants and counters: as context manager and decorator, on functions, generators and coroutines."""

from __future__ import annotations

import json
import threading
import weakref
from contextlib import suppress
from itertools import pairwise

import pytest

import eventide as et
from tests.helpers import Boom
from tests.unit.recordings import args, recorded, spans


def test_a_with_block_is_a_span_and_spans_nest() -> None:
    def run() -> None:
        with et.span("outer"):
            with et.span("first"):
                pass
            with et.span("second"):
                pass

    assert spans(recorded(run)) == [("outer", 0), ("first", 1), ("second", 1)]


def test_nothing_is_recorded_while_no_recorder_runs() -> None:
    span = et.span("early")
    with span:
        et.instant("early")
        et.counter("early", 1)
    trace = recorded(lambda: None)
    assert [table.num_rows for name, table in trace.tables.items() if name != "tracks"] == [0] * 6


def test_a_span_entered_before_the_recording_leaves_nothing_in_it() -> None:
    span = et.span("around")
    span.__enter__()
    with et.Recorder() as recorder:
        span.__exit__(None, None, None)
    assert recorder.trace.spans.num_rows == 0


def test_a_span_that_is_open_at_the_end_has_no_duration() -> None:
    span = et.span("open")
    with et.Recorder() as recorder:
        span.__enter__()
    span.__exit__(None, None, None)
    assert recorder.trace.spans.column("duration").to_pylist() == [None]
    with et.Recorder() as recorder, span:
        pass
    assert recorder.trace.spans.column("duration").null_count == 0


def test_an_exception_propagates_and_is_named() -> None:
    with et.Recorder() as recorder, pytest.raises(Boom), et.span("work", step=1):
        raise Boom("no")
    assert args(recorder.trace) == {"step": 1, "error": "Boom"}
    assert recorder.trace.spans.column("duration").null_count == 0


def test_one_span_object_is_entered_again_and_again_by_recursion_too():
    span = et.span("again")

    def down(n):
        with span:
            if n:
                down(n - 1)

    trace = recorded(lambda: (down(3), down(0)))
    assert spans(trace) == [("again", 0), ("again", 1), ("again", 2), ("again", 3), ("again", 0)]


def test_one_span_object_is_shared_by_threads_and_each_leaves_its_own() -> None:
    span = et.span("shared")
    barrier = threading.Barrier(3)

    def run() -> None:
        for _ in range(20):
            with span:
                barrier.wait(60)
            barrier.wait(60)

    def start() -> None:
        threads = [threading.Thread(target=run, name=f"sharer {i}") for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    rows = recorded(start).spans.to_pylist()
    for track in {row["track"] for row in rows}:
        mine = sorted((row["start"], row["start"] + row["duration"]) for row in rows if row["track"] == track)
        assert len(mine) == 20
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


def test_a_span_may_be_left_on_another_thread() -> None:
    span = et.span("handed over")

    def run() -> None:
        span.__enter__()
        thread = threading.Thread(target=span.__exit__, args=(None, None, None))
        thread.start()
        thread.join()

    assert spans(recorded(run)) == [("handed over", 0)]


def test_leaving_more_often_than_entering_does_nothing():
    span = et.span("once")

    def run():
        with span:
            pass
        assert span.__exit__(None, None, None) is None

    assert spans(recorded(run)) == [("once", 0)]


def test_instants_and_counters_have_their_values_in_order() -> None:
    def run() -> None:
        for i in range(5):
            et.instant("tick", i=i)
            et.counter("n", i / 2)
        et.counter("n", -(2**53))
        et.counter("n", float("inf"))

    trace = recorded(run)
    assert [json.loads(text)["i"] for text in trace.instants.column("args").to_pylist()] == [0, 1, 2, 3, 4]
    assert trace.counters.column("value").to_pylist() == [0.0, 0.5, 1.0, 1.5, 2.0, -(2.0**53), float("inf")]
    times = trace.counters.column("time").to_pylist()
    assert times == sorted(times)


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(et.UsageTypeError, match="needs a name as its first argument, not int"):
        et.span(3)  # type: ignore[arg-type]
    with pytest.raises(et.UsageTypeError, match="takes one name"):
        et.span("a", "b")
    with pytest.raises(et.UsageTypeError, match="instant\\(\\) takes one name"):
        et.instant()
    with pytest.raises(et.UsageTypeError, match="takes a number as its value, not str"):
        et.counter("n", "many")


def test_a_span_releases_its_arguments() -> None:
    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    with et.Recorder(), et.span("s", value=value):
        pass
    with et.Recorder(), et.span("s", a=1, b=2, c=3, d=value):
        pass
    del value
    assert gone() is None


def test_stacks_come_with_spans_when_enabled() -> None:
    def named() -> None:
        with et.span("s"):
            et.instant("i")

    trace = recorded(named, stacks=True)
    frames = trace.stacks.column("frames").to_pylist()
    where = frames[trace.spans.column("stack")[0].as_py()][0]
    assert where == {"file": __file__, "line": named.__code__.co_firstlineno + 1, "function": named.__qualname__}
    assert trace.instants.column("stack")[0].as_py() is not None
    assert recorded(named).spans.column("stack").null_count == 1


def test_many_spans_on_many_threads_are_all_recorded() -> None:
    def work(n: int) -> None:
        for i in range(2000):
            with et.span("outer", i=i), suppress(Boom), et.span(f"inner {n}"):
                raise Boom

    def run() -> None:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = recorded(run)
    assert trace.spans.num_rows == 4 * 2 * 2000
    assert trace.spans.column("duration").null_count == 0
    assert trace.metadata["account"]["recorded"]["spans"] == 16_000
