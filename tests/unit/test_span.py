"""Spans, instants and counters: as context manager and decorator, on functions, generators and coroutines."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

import eventide as et
from tests.helpers import Boom, run_loop


def recorded(run: Callable[[], object], **options: Any) -> et.Trace:
    with et.Recorder(**options) as recorder:
        run()
    assert recorder.trace is not None
    recorder.trace.check()
    return recorder.trace


def spans(trace: et.Trace) -> list[tuple[str, int]]:
    """Name and depth of each span in the order of their starts; all have ended."""
    rows = sorted(trace.spans.to_pylist(), key=lambda row: row["start"])
    out: list[tuple[str, int]] = []
    ends: list[int] = []
    for row in rows:
        ends = [end for end in ends if end > row["start"]]
        out.append((row["name"], len(ends)))
        ends.append(row["start"] + row["duration"])
    return out


def args(trace: et.Trace, row: int = 0) -> Any:
    return json.loads(trace.spans.column("args")[row].as_py())


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


def test_an_exception_passes_through_and_is_named() -> None:
    with et.Recorder() as recorder, pytest.raises(Boom), et.span("work", step=1):
        raise Boom("no")
    assert args(recorder.trace) == {"step": 1, "error": "Boom"}
    assert recorder.trace.spans.column("duration").null_count == 0


def test_one_span_object_is_entered_again_and_again_by_recursion_too() -> None:
    span = et.span("again")

    def down(n: int) -> None:
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


def test_leaving_more_often_than_entering_does_nothing() -> None:
    span = et.span("once")

    def run() -> None:
        with span:
            pass
        assert span.__exit__(None, None, None) is None

    assert spans(recorded(run)) == [("once", 0)]


def test_a_decorated_function_is_a_span_per_call_and_keeps_its_face() -> None:
    @et.span("double", kind="test")
    def double(n: int) -> int:
        """Twice n."""
        return 2 * n

    assert (double.__name__, double.__doc__, double(4)) == ("double", "Twice n.", 8)
    assert inspect.signature(double) == inspect.signature(double.__wrapped__)  # type: ignore[attr-defined]
    trace = recorded(lambda: [double(n) for n in range(3)])
    assert spans(trace) == [("double", 0)] * 3
    assert args(trace) == {"kind": "test"}


def test_a_decorated_method_binds() -> None:
    class Thing:
        @et.span("method")
        def method(self, n: int) -> tuple[object, int]:
            return self, n

    thing = Thing()
    out: list[object] = []
    assert spans(recorded(lambda: out.append(thing.method(3)))) == [("method", 0)]
    assert out == [(thing, 3)]


def test_a_decorated_function_that_raises_ends_its_span() -> None:
    @et.span("fails")
    def fails() -> None:
        raise Boom

    with et.Recorder() as recorder, pytest.raises(Boom):
        fails()
    assert spans(recorder.trace) == [("fails", 0)]
    assert args(recorder.trace) == {"error": "Boom"}


def test_a_decorated_generator_is_one_span_from_its_first_step_to_its_end() -> None:
    @et.span("numbers")
    def numbers(n: int):
        got = yield 0
        for i in range(1, n):
            got = yield i, got
        return "over"

    assert inspect.isgeneratorfunction(numbers)

    def run() -> None:
        a, b = numbers(2), numbers(2)
        assert (next(a), next(b)) == (0, 0)
        assert a.send("x") == (1, "x")
        with pytest.raises(StopIteration, match="over"):
            next(a)
        assert b.send("y") == (1, "y")
        b.close()

    rows = sorted(recorded(run).spans.to_pylist(), key=lambda row: row["start"])
    (first, second) = [(row["start"], row["start"] + row["duration"]) for row in rows]
    assert first[0] < second[0] < first[1] < second[1]  # each has its own end
    assert [row["args"] for row in rows] == [None, None]


def test_a_generator_hears_what_is_thrown_in_and_a_dropped_one_ends() -> None:
    @et.span("catcher")
    def catcher():
        try:
            yield 1
        except Boom:
            yield "caught"

    def run() -> None:
        generator = catcher()
        next(generator)
        assert generator.throw(Boom) == "caught"
        del generator
        gc.collect()

    assert spans(recorded(run)) == [("catcher", 0)]


def test_a_decorated_coroutine_is_one_span_per_call_and_interleaved_ones_have_their_own_ends() -> None:
    @et.span("task")
    async def task(before: asyncio.Event, after: asyncio.Event) -> str:
        after.set()
        await before.wait()
        return "done"

    assert inspect.iscoroutinefunction(task)

    async def main() -> None:
        go, first, second = asyncio.Event(), asyncio.Event(), asyncio.Event()
        a = asyncio.create_task(task(go, first))
        await first.wait()
        b = asyncio.create_task(task(second, second))
        assert await b == "done"
        go.set()
        assert await a == "done"

    rows = sorted(recorded(lambda: run_loop(main())).spans.to_pylist(), key=lambda row: row["start"])
    (a, b) = [(row["start"], row["start"] + row["duration"]) for row in rows]
    assert a[0] < b[0] <= b[1] < a[1]


def test_a_decorated_async_generator_passes_on_everything() -> None:
    closed = []

    @et.span("stream")
    async def stream():
        try:
            got = yield 1
            while True:
                try:
                    got = yield got
                except Boom as error:
                    got = str(error)
        finally:
            closed.append(True)

    assert inspect.isasyncgenfunction(stream)

    async def main() -> None:
        generator = stream()
        assert await anext(generator) == 1
        assert await generator.asend("x") == "x"
        assert await generator.athrow(Boom("thrown")) == "thrown"
        await generator.aclose()
        assert [n async for n in finite()] == [0, 1]

    @et.span("finite")
    async def finite():
        yield 0
        yield 1

    assert spans(recorded(lambda: run_loop(main()))) == [("stream", 0), ("finite", 0)]
    assert closed == [True]


def test_a_partial_of_a_coroutine_function_is_seen_as_one() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    decorated = et.span("add")(partial(add, 1))
    assert inspect.iscoroutinefunction(decorated)
    assert run_loop(decorated(2)) == 3


def test_any_callable_can_be_decorated() -> None:
    assert et.span("len")(len)("abc") == 3
    with pytest.raises(et.UsageTypeError, match="a span decorates a function, not int"):
        et.span("x")(3)  # type: ignore[type-var]
    with pytest.raises(et.UsageTypeError, match="decorates one function"):
        et.span("x")(len, len)


ARGUMENTS = {
    "whole": -3,
    "huge": 2**100,
    "real": 0.1,
    "yes": True,
    "no": False,
    "none": None,
    "text": 'quotes " and \\ and </script> and é and \x00 and \n and 🌊',
    "list": [1, {"a": [None]}, (2, 3)],
    "key with é": 1,
}


def test_arguments_come_back_as_they_went_in() -> None:
    trace = recorded(lambda: et.span("s", **ARGUMENTS).__enter__())
    assert args(trace) == {**ARGUMENTS, "list": [1, {"a": [None]}, [2, 3]]}


def test_arguments_that_are_no_json_are_shown() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise Boom

    values = {"nan": float("nan"), "inf": -float("inf"), "bytes": b"abc", "type": int, "rude": Rude(), "sur": "\ud800"}
    trace = recorded(lambda: et.span("s", **values).__enter__())
    assert args(trace) == {
        "nan": "nan",
        "inf": "-inf",
        "bytes": "<3 bytes>",
        "type": "<class 'int'>",
        "rude": "<Rude: its repr raised Boom>",
        "sur": "\\ud800",
    }


def test_arguments_that_are_too_long_are_cut_and_counted() -> None:
    trace = recorded(lambda: et.span("s", text="é" * 20_000, after=1).__enter__())
    assert args(trace) == {"text": "é" * 4096, "after": 1}
    assert trace.metadata["account"]["truncated"]["spans"] == 1


def test_an_argument_may_record_spans_of_its_own_while_it_is_looked_at() -> None:
    class Nosy:
        def __repr__(self) -> str:
            with et.span("inside"):
                return "nosy"

    trace = recorded(lambda: et.span("outside", value=Nosy()).__enter__())
    assert sorted(trace.spans.column("name").to_pylist()) == ["inside", "outside"]


NAMES = ['"quotes"', "new\nline", "nul\x00nul", "🌊", "\ud800 lone", "</script>", "m" * 1_000_000, "", "\\"]


def test_any_name_is_kept() -> None:
    def run() -> None:
        for name in NAMES:
            with et.span(name):
                et.instant(name)
                et.counter(name, 1)

    trace = recorded(run)
    expected = [name.replace("\ud800", "\\ud800") for name in NAMES]
    assert trace.spans.column("name").to_pylist() == expected
    assert trace.instants.column("name").to_pylist() == expected
    assert trace.counters.column("name").to_pylist() == expected


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


def test_wrong_calls_say_what_is_wrong() -> None:
    with pytest.raises(et.UsageTypeError, match="needs a name as its first argument, not int"):
        et.span(3)  # type: ignore[arg-type]
    with pytest.raises(et.UsageTypeError, match="takes one name"):
        et.span("a", "b")
    with pytest.raises(et.UsageTypeError, match="instant\\(\\) takes one name"):
        et.instant()
    with pytest.raises(et.UsageTypeError, match="takes a number as its value, not str"):
        et.counter("n", "many")


def test_a_span_lets_go_of_its_arguments() -> None:
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


def test_stacks_come_with_spans_when_asked_for() -> None:
    def named() -> None:
        with et.span("s"):
            et.instant("i")

    trace = recorded(named, stacks=True)
    frames = trace.stacks.column("frames").to_pylist()
    where = frames[trace.spans.column("stack")[0].as_py()][0]
    assert where == {"file": __file__, "line": named.__code__.co_firstlineno + 1, "function": named.__qualname__}
    assert trace.instants.column("stack")[0].as_py() is not None
    assert recorded(named).spans.column("stack").null_count == 1


def test_many_spans_on_many_threads_are_all_there() -> None:
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
