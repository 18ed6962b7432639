"""What torch's operators access inside work on Eventide streams, reported to the sanitizer while one is active.

Work with declared accesses is left unchanged. Any other function runs under a TorchDispatchMode, which gets each
operator below autograd, with its schema: mutated arguments are written, other tensors are read, views access nothing.
Memory that an operator allocates is written by the work, once: what else the work does with it adds nothing. Only
tensors of the CPU; a strided tensor is accessed as a whole.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from eventide import _native
from eventide._util import process
from eventide._util.on_import import ImportHook, when_imported
from eventide._util.subscription import Subscription
from eventide.integrations._patch import guarded
from eventide.runtime import Work, wrap_submitted
from eventide.runtime.access import accesses_of

_NOTHING = ("new_", "empty")  # such operators access only the shape of their input


class _State:
    """`lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # when_imported() calls _register() at once if torch is imported
        self.users = 0
        self.hook: ImportHook | None = None
        self.registration: Subscription | None = None


_state = _State()


def _after_fork() -> None:
    _state.lock = threading.RLock()  # its owner may be a thread of the parent


process.after_fork(_after_fork)


def start() -> None:
    """Report accesses from the import of torch on, until as many ``stop()``."""
    with _state.lock:
        _state.users += 1
        if _state.users == 1:
            _state.hook = when_imported("torch", _register)


def stop() -> None:
    """Report no more."""
    with _state.lock:
        _state.users -= 1
        if _state.users:
            return
        if _state.hook is not None:
            _state.hook.close()
        if _state.registration is not None:
            _state.registration.close()
        _state.hook = _state.registration = None


def _register() -> None:
    with _state.lock:
        if _state.registration is None and _state.users:
            _state.registration = wrap_submitted(_watched)


def _watched(fn: Any) -> Any:
    """The function under the mode; what is not callable is left unchanged."""
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
        """Of one work item."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name
            self.allocated: set[int] = set()  # storages that this work allocated; a reused number hides a finding

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            _report(self, func, args, kwargs)
            result = func(*args, **kwargs)
            _report_made(self, args, kwargs, result)
            return result

    return Accesses


@guarded
def _report(mode: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
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
            if tensor.untyped_storage()._cdata not in mode.allocated:  # noqa: SLF001 - its number
                (writes if written else reads).append(tensor)
    if reads or writes:
        _native.work_access(accesses_of(reads), accesses_of(writes), mode.name)


@guarded
def _report_made(mode: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """The storages of the result that no argument has."""
    given = {tensor.untyped_storage()._cdata for tensor in _tensors([args, list(kwargs.values())])}  # noqa: SLF001
    made = {tensor.untyped_storage()._cdata: tensor for tensor in _tensors(result)}  # noqa: SLF001
    if fresh := [tensor for number, tensor in made.items() if number not in given]:
        mode.allocated |= made.keys() - given
        _native.work_access((), accesses_of(fresh), mode.name)


def _tensors(thing: Any) -> Iterator[Any]:
    """The tensors in the arguments of an operator, which may be in lists and tuples."""
    import torch

    if isinstance(thing, torch.Tensor):
        if thing.device.type == "cpu" and thing.layout is torch.strided and thing.numel():
            yield thing
    elif isinstance(thing, list | tuple):
        for one in thing:
            yield from _tensors(one)
