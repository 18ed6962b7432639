"""The Python half of spans: decorating functions of every kind, and arguments that are not plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide._native import counter, instant, span
from eventide._util.subscription import Subscription

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from contextlib import AbstractContextManager

__all__ = ["annotate_spans", "counter", "instant", "span"]

# Flags of code objects: what calling the function returns.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_DEEPEST = 200  # characters of a repr that is kept


def annotate_spans(make: Callable[[str], AbstractContextManager[object]]) -> Subscription:
    """Enter make(name) with every span, and leave it with the span, until the Subscription is closed.

    For a profiler of the program that is to show our spans as its own. One at a time: a second one replaces the first.
    """
    _native.set_span_annotator(make)
    return Subscription("spans", lambda: _native.set_span_annotator(None))


def decorate(kept: span, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside the span: each call, or the whole life of each generator and coroutine that it gives."""
    flags = _flags(function)
    if flags & _ASYNC_GENERATOR:
        wrapper: Callable[..., Any] = _around_async_generator(kept, function)
    elif flags & _COROUTINE:
        wrapper = _around_coroutine(kept, function)
    elif flags & _GENERATOR:
        wrapper = _around_generator(kept, function)
    else:
        wrapper = _around_call(kept, function)
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    wrapper.__dict__.update(getattr(function, "__dict__", {}))
    wrapper.__wrapped__ = function  # type: ignore[attr-defined]
    return wrapper


def _flags(function: Any) -> int:
    """The flags of its code, through methods, partial objects and callable objects."""
    for _ in range(10):
        code = getattr(function, "__code__", None)
        if code is not None:
            return int(code.co_flags)
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        if inner is None and not isinstance(function, type):
            inner = vars(type(function)).get("__call__")
        if inner is None:
            return 0
        function = inner
    return 0


def _around_call(kept: span, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with kept:
            return function(*args, **kwargs)

    return wrapper


def _around_generator(kept: span, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with kept._copy():  # noqa: SLF001
            return (yield from function(*args, **kwargs))

    return wrapper


def _around_coroutine(kept: span, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with kept._copy():  # noqa: SLF001
            return await function(*args, **kwargs)

    return wrapper


def _around_async_generator(kept: span, function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with kept._copy():  # noqa: SLF001
            inner = function(*args, **kwargs)
            try:
                resume = inner.__anext__()
                while True:
                    try:
                        value = await resume
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 - thrown in: the inner generator handles it
                        resume = inner.athrow(error)
                    else:
                        resume = inner.asend(sent)
            finally:
                await inner.aclose()

    return wrapper


def describe(value: object) -> str:
    """A value as JSON text: numbers, lists and dicts as they are, everything else by its repr."""
    import json

    # Text stays text: Perfetto shows the escapes of Chrome's JSON as they are written.
    try:
        return json.dumps(value, default=_shown, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_shown(value), ensure_ascii=False)


def _shown(value: object) -> object:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():  # a scalar of numpy or torch
        number = item()
        if isinstance(number, bool | int | float | str):
            return number if not isinstance(number, float) or number - number == 0 else repr(number)
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - recording must not break the program
        text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
    return text if len(text) <= _DEEPEST else text[: _DEEPEST - 1] + "…"


_native.set_span_helpers(decorate, describe)
