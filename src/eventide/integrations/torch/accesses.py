"""What torch's operators touch inside of work on Eventide streams, told to the sanitizer while one is on.

Work whose accesses are declared says so itself. Any other function runs under a TorchDispatchMode, which sees each
operator below autograd, with its schema: what it mutates is written, other tensors are read, views touch nothing. A
tensor that the work makes is its own until it ends. Tensors of the CPU only; what a kernel reads of the pieces of a
strided tensor is all of them.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from eventide import _native
from eventide._util.on_import import ImportHook, when_imported
from eventide.integrations._guard import guarded
from eventide.runtime import Stream, Work
from eventide.runtime.access import accesses_of

_NOTHING = ("new_", "empty")  # such operators look at the shape of their input


class _State:
    """Who guards what: `lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.waiting: ImportHook | None = None
        self.submit: Any = None  # Stream's own, while ours stands there


_state = _State()


def start() -> None:
    """Tell, until as many ``stop()``; from when torch is imported."""
    with _state.lock:
        _state.users += 1
        first = _state.users == 1
    if first:
        hook = when_imported("torch", _patch)
        with _state.lock:
            _state.waiting = hook


def stop() -> None:
    """Tell no more; streams are as they were."""
    with _state.lock:
        _state.users -= 1
        if _state.users:
            return
        hook, _state.waiting = _state.waiting, None
        submit, _state.submit = _state.submit, None
        if submit is not None:
            Stream.submit = submit  # type: ignore[method-assign]
    if hook is not None:
        hook.close()


def _patch() -> None:
    with _state.lock:
        if _state.submit is not None or not _state.users:
            return
        original = _state.submit = Stream.submit

    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return original(self, _watched(fn), *args, **kwargs)

    Stream.submit = submit  # type: ignore[method-assign]


def _watched(fn: Any) -> Any:
    """The function under the mode; whatever cannot be watched is left as it is."""
    if isinstance(fn, Work):
        return fn if fn.declared else Work(_under_mode(fn.fn, str(fn.name)), fn.name, None, None, fn.duration)
    return _under_mode(fn, str(getattr(fn, "__qualname__", type(fn).__name__))) if callable(fn) else fn


def _under_mode(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _mode_class()(name):
            return fn(*args, **kwargs)

    return call


@functools.cache
def _mode_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Accesses(TorchDispatchMode):  # type: ignore[misc]
        """Of one work."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name
            self.born: set[int] = set()  # storages that this work made; their number may be given again: rather silent

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            _tell(self, func, args, kwargs)
            result = func(*args, **kwargs)
            _born(self, args, kwargs, result)
            return result

    return Accesses


@guarded
def _tell(mode: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    schema = func._schema  # noqa: SLF001 - torch has no other way
    name = schema.name.rpartition("::")[2]
    is_view = any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns)
    if is_view or name.startswith(_NOTHING) or name.endswith("_like"):
        return
    reads: list[Any] = []
    writes: list[Any] = []
    for place, parameter in enumerate(schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(parameter.name)
        written = parameter.alias_info is not None and parameter.alias_info.is_write
        for tensor in _tensors(value):
            if tensor.untyped_storage()._cdata not in mode.born:  # noqa: SLF001 - its number
                (writes if written else reads).append(tensor)
    if reads or writes:
        _native.work_access(accesses_of(reads), accesses_of(writes), mode.name)


@guarded
def _born(mode: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    given = {tensor.untyped_storage()._cdata for tensor in _tensors([args, list(kwargs.values())])}  # noqa: SLF001
    made = {tensor.untyped_storage()._cdata for tensor in _tensors(result)}  # noqa: SLF001
    mode.born |= made - given


def _tensors(thing: Any) -> Iterator[Any]:
    """The tensors in the arguments of an operator: lists and tuples are all that there are."""
    import torch

    if isinstance(thing, torch.Tensor):
        if thing.device.type == "cpu" and thing.layout is torch.strided and thing.numel():
            yield thing
    elif isinstance(thing, list | tuple):
        for one in thing:
            yield from _tensors(one)
