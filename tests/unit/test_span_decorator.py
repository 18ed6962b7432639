"""A span as a decorator: of functions, methods, generators, coroutines and async generators."""

from __future__ import annotations

import asyncio
import gc
import inspect
from functools import partial

import pytest

import eventide as et
from tests.helpers import Boom, run_loop
from tests.unit.recordings import args, recorded, spans


def test_a_decorated_function_is_a_span_per_call_and_keeps_its_signature() -> None:
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


def test_a_generator_receives_what_is_thrown_in_and_a_dropped_one_ends() -> None:
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


def test_any_callable_can_be_decorated():
    assert et.span("len")(len)("abc") == 3
    with pytest.raises(et.UsageTypeError, match="a span decorates a function, not int"):
        et.span("x")(3)  # type: ignore[type-var]
    with pytest.raises(et.UsageTypeError, match="decorates one function"):
        et.span("x")(len, len)
