"""Ways to call a function from Python, for tests of stacks: each scene calls `look` one or more times."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

Look = Callable[..., Any]
Scene = Callable[[Look], None]


def function(look: Look) -> None:
    look()


def lines_of_one_call(look: Look) -> None:
    max(
        1,
        look(
            2,
            3,
        ),
    )


def keywords_and_stars(look: Look) -> None:
    def inner(*values: int, **more: int) -> None:
        look(*values)

    inner(*(1, 2), **dict.fromkeys(["three"], 3))


def generator(look: Look) -> None:
    def inner() -> Iterator[int]:
        yield look()
        yield look()

    def outer() -> Iterator[int]:
        yield from inner()

    for _ in outer():
        pass


def generator_that_is_thrown_into(look: Look) -> None:
    def inner() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            look()
            yield 2

    running = inner()
    next(running)
    running.throw(ValueError)  # type: ignore[attr-defined]
    running.close()  # type: ignore[attr-defined]


def coroutine(look: Look) -> None:
    async def inner() -> int:
        return look()

    async def numbers() -> AsyncIterator[int]:
        yield await inner()

    async def outer() -> list[int]:
        async with contextlib.AsyncExitStack():
            return [n async for n in numbers()]

    with contextlib.suppress(StopIteration):
        outer().send(None)


def event_loop(look: Look) -> None:
    async def inner() -> None:
        await asyncio.sleep(0)
        look()

    asyncio.run(inner())


def comprehensions(look: Look) -> None:
    [look() for _ in range(1)]
    {look() for _ in range(1)}
    {look(): look() for _ in range(1)}
    list(look() for _ in range(1))  # noqa: C400


def executed_text(look: Look) -> None:
    exec("def f():\n  look()\n\nf()", {"look": look})
    eval("[look() for _ in (1,)]", {"look": look})


def class_body(look: Look) -> None:
    class Meta(type):
        def __call__(cls) -> object:
            look()
            return super().__call__()

    class Thing(metaclass=Meta):
        look()

        def __init__(self) -> None:
            look()

        def __init_subclass__(cls) -> None:
            look()

    class Other(Thing):
        pass

    Other()


def callbacks_of_c(look: Look) -> None:
    sorted([1], key=look)
    list(map(look, [1]))
    functools.partial(look, 1)()
    functools.reduce(lambda a, b: look(), [1, 2])
    functools.lru_cache(look)()


def decorators(look: Look) -> None:
    def traced(call: Look) -> Look:
        @functools.wraps(call)
        def wrapper(*arguments: Any) -> Any:
            return call(*arguments)

        return wrapper

    @traced
    @traced
    def inner() -> None:
        look()

    inner()


class Special:
    def __init__(self, look: Look) -> None:
        self.look = look
        look()

    @property
    def member(self) -> int:
        return self.look()

    def __getattr__(self, name: str) -> int:
        return self.look()

    def __getitem__(self, key: object) -> int:
        return self.look()

    def __add__(self, other: object) -> int:
        return self.look()

    def __contains__(self, key: object) -> bool:
        return bool(self.look())

    def __len__(self) -> int:
        return self.look()

    def __iter__(self) -> Iterator[int]:
        yield self.look()

    def __enter__(self) -> None:
        self.look()

    def __exit__(self, *error: object) -> bool:
        self.look()
        return True


def special_methods(look: Look) -> None:
    thing = Special(look)
    thing.member
    thing.missing
    thing[0]
    thing + 1
    0 in thing
    len(thing)
    list(thing)
    for _ in thing:
        pass
    with thing:
        raise ValueError


def finalizers(look: Look) -> None:
    class Thing:
        def __del__(self) -> None:
            look()

    def inner() -> None:
        thing: Thing | None = Thing()
        thing = None  # noqa: F841
        Thing()
        other = Thing()  # noqa: F841, while this frame is taken down

    inner()
    cycle = Thing()
    cycle.itself = cycle  # type: ignore[attr-defined]
    del cycle
    gc.collect(1)  # a whole collection takes a second in a process with many objects, and tests run this 60 times


def handlers_of_errors(look: Look) -> None:
    try:
        raise ValueError
    except ValueError:
        look()
    finally:
        look()


def recursion(look: Look, n: int = 200) -> None:
    look() if n == 0 else recursion(look, n - 1)


def many_constants(look: Look) -> None:
    """With so many names, the arguments of instructions need EXTENDED_ARG."""
    text = "".join(f"name_{i} = {i}.5\n" for i in range(300)) + "name_299, look(), name_298\n"
    exec(text, {"look": look})


SCENES: list[Scene] = [
    function,
    lines_of_one_call,
    keywords_and_stars,
    generator,
    generator_that_is_thrown_into,
    coroutine,
    comprehensions,
    executed_text,
    class_body,
    callbacks_of_c,
    decorators,
    special_methods,
    finalizers,
    handlers_of_errors,
    recursion,
    many_constants,
]

# Those compile their code anew each time; a new code object is another stack.
FIXED = [scene for scene in SCENES if scene not in {executed_text, many_constants}]
