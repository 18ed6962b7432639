"""The creation of queues and buffers: objects that replace pyopencl's classes and create the same objects.

Calling a class of pyopencl does not call a replaced __init__, so the name in the module is replaced. The stand-in works
as the class for all that programs do with one: call it, isinstance, subclass it, use its functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eventide.integrations._patch import guarded
from eventide.integrations.pyopencl import _memory as memory
from eventide.integrations.pyopencl import _queues as queues_


class StandIn:
    """Replaces the class `kind`; calling it calls `make`."""

    def __init__(self, kind: type[Any], make: Callable[..., Any]) -> None:
        self._kind, self._make = kind, make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make(*args, **kwargs)

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


def queues(cl: Any, profiling: bool) -> Callable[..., Any]:
    """make(CommandQueue, *args, **kwargs)"""
    flag = cl.command_queue_properties.PROFILING_ENABLE
    created = guarded(queues_.created)

    @guarded
    def with_times(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        given = args[2] if len(args) > 2 else kwargs.get("properties", 0)
        if not profiling or not (given is None or isinstance(given, int)):
            return None  # a list of properties is left unchanged
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
            queue = kind(*args, **kwargs)  # if our flag was not the cause, this raises the program's error
        created(queue)
        return queue

    return make


def buffers() -> Callable[..., Any]:
    """make(Buffer, *args, **kwargs)"""
    created = guarded(memory.created)

    def make(kind: type[Any], *args: Any, **kwargs: Any) -> Any:
        buffer = kind(*args, **kwargs)
        created(buffer)
        return buffer

    return make


def sub_buffers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Buffer.get_sub_region and Buffer.__getitem__"""
    created = guarded(memory.sub_buffer_created)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        sub_buffer = original(self, *args, **kwargs)
        created(sub_buffer, self)
        return sub_buffer

    return call


def release(original: Callable[..., Any]) -> Callable[..., Any]:
    """Buffer.release"""
    released = guarded(memory.released)

    def call(self: Any) -> Any:
        released(self)
        return original(self)

    return call
