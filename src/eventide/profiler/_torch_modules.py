"""Modules of torch: the forward of the profiled module, and of those inside it, as spans. Imports torch."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import torch

from eventide.profiler._arguments import Options
from eventide.profiler._record import record_span
from eventide.profiler._torch_ops import hear_this_thread, leave_this_thread, modules

_local = threading.local()  # .open: the forwards that run on this thread, of all profiles


@dataclass
class _Forward:
    """One forward that runs. `owner` is the profile that records it: two that watch one module make one span."""

    owner: TorchModules
    module: Any
    name: str
    start: int
    hears: bool


class TorchModules:
    """Hooks on one module and, if asked, on all inside it; on every module if none was given. Keeps none alive."""

    def __init__(self, module: Any, options: Options, *, mode: bool) -> None:
        self._stack = options.with_stack
        self._handles: list[Any] = []
        if module is not None:
            root = type(module).__name__
            inside = module.named_modules() if options.with_modules else [("", module)]
            for name, one in inside:
                self._hook(one, f"{root}.{name}" if name else root, outermost=one is module and mode)
        elif options.with_modules:
            self._hook_all()

    def _hook(self, module: Any, name: str, *, outermost: bool) -> None:
        def before(one: Any, _: Any) -> None:
            if not torch.compiler.is_compiling():  # a compiled module is one thing: its parts are not there any more
                self._enter(one, name, hear=outermost)

        def after(one: Any, _: Any, __: Any) -> None:
            if not torch.compiler.is_compiling():
                self._leave(one)

        self._handles.append(module.register_forward_pre_hook(before))
        self._handles.append(module.register_forward_hook(after, always_call=True))

    def _hook_all(self) -> None:
        """No module was named: all are heard, under their types and the names that their parents give them."""
        hooks = torch.nn.modules.module

        def before(one: Any, _: Any) -> None:
            if not torch.compiler.is_compiling():
                self._enter(one, _name_in_parent(one), hear=False)

        def after(one: Any, _: Any, __: Any) -> None:
            if not torch.compiler.is_compiling():
                self._leave(one)

        self._handles.append(hooks.register_module_forward_pre_hook(before))
        self._handles.append(hooks.register_module_forward_hook(after, always_call=True))

    def _enter(self, module: Any, name: str, *, hear: bool) -> None:
        opened = _open()
        if opened and opened[-1].module is module and opened[-1].owner is not self:
            return  # the hook of another profile was here a moment ago
        if hear:
            hear_this_thread()
        modules().append(name)
        opened.append(_Forward(self, module, name, time.monotonic_ns(), hear))

    def _leave(self, module: Any) -> None:
        opened = _open()
        if not opened or opened[-1].module is not module or opened[-1].owner is not self:
            return  # another profile's, or begun before this one
        forward = opened.pop()
        modules().pop()
        if forward.hears:
            leave_this_thread()
        about = {"type": type(module).__name__}
        record_span(forward.name, "module", forward.start, time.monotonic_ns(), about, stack=self._stack)

    def close(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _open() -> list[_Forward]:
    opened: list[_Forward] = _local.__dict__.setdefault("open", [])
    return opened


def _name_in_parent(module: Any) -> str:
    opened = _open()
    if opened:
        for name, child in opened[-1].module.named_modules():
            if child is module and name:
                return f"{opened[-1].name}.{name}"
    return type(module).__name__
