"""Where queues and buffers are made: objects that stand where pyopencl's classes stood, and make the same things.

A class of pyopencl does not ask its __init__ when it is called, so the name in the module is what we can stand at. The
stand-in is the class for all that programs do with one: call it, ask isinstance, derive from it, use its functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from eventide.integrations._guard import guarded
from eventide.integrations.pyopencl import _memory as memory
from eventide.integrations.pyopencl import _queues as queues_


class StandIn:
    """Calls `make` with the class and the arguments."""

    def __init__(self, kind: type[Any], make: Callable[..., Any]) -> None:
        self._kind, self._make = kind, make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make(self._kind, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def __instancecheck__(self, thing: object) -> bool:
        return isinstance(thing, self._kind)

    def __subclasscheck__(self, kind: type[Any]) -> bool:
        return issubclass(kind, self._kind)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any], ...]:
        return (self._kind,)

    def __or__(self, other: Any) -> Any:
        return self._kind | other

    def __ror__(self, other: Any) -> Any:
        return other | self._kind

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return repr(self._kind)


def queues(cl: Any, profiling: bool) -> StandIn:
    """For CommandQueue."""
    flag = cl.command_queue_properties.PROFILING_ENABLE
    told = guarded(queues_.made)

    @guarded
    def with_times(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        given = args[2] if len(args) > 2 else kwargs.get("properties", 0)
        if not profiling or not (given is None or isinstance(given, int)):
            return None  # a list of properties stays what it is
        properties = int(given or 0) | int(flag)
        if len(args) > 2:
            return (*args[:2], properties, *args[3:]), kwargs
        return args, {**kwargs, "properties": properties}

    def make(kind: type[Any], *args: Any, **kwargs: Any) -> Any:
        changed = with_times(args, kwargs)
        try:
            queue = kind(*args, **kwargs) if changed is None else kind(*changed[0], **changed[1])
        except (cl.Error, TypeError):
            if changed is None:
                raise
            queue = kind(*args, **kwargs)  # if it was not for our flag, it fails again and the program sees why
        told(queue)
        return queue

    return StandIn(cl._cl.CommandQueue, make)  # noqa: SLF001 - the class itself


def buffers(cl: Any) -> StandIn:
    """For Buffer."""
    told = guarded(memory.made)

    def make(kind: type[Any], *args: Any, **kwargs: Any) -> Any:
        buffer = kind(*args, **kwargs)
        told(buffer)
        return buffer

    return StandIn(cl._cl.Buffer, make)  # noqa: SLF001 - the class itself


def sub_buffers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Buffer.get_sub_region and Buffer.__getitem__"""
    told = guarded(memory.part_made)

    @functools.wraps(original, ())
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        told(made, self)
        return made

    return call


def release(original: Callable[..., Any]) -> Callable[..., Any]:
    """Buffer.release"""
    told = guarded(memory.released)

    @functools.wraps(original, ())
    def call(self: Any) -> Any:
        told(self)
        return original(self)

    return call
