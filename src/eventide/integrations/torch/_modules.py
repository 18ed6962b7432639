"""Forwards of torch's modules as spans: of the profiled module and those inside it, or of all. Imports torch."""

from __future__ import annotations

import functools
import json
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from eventide import _native
from eventide._util import process
from eventide.integrations._patch import Installation

_log = logging.getLogger("eventide.profiler")
_local = threading.local()  # .open: running forwards of this thread; .failed: an error of Eventide was logged
_lock = threading.Lock()  # guards the replacement of _listeners
_installation = Installation()  # while there are listeners
_DYNAMO_NAME = "unpatched_nn_module_call"
_DYNAMO_MODULES = ("torch._dynamo.utils", "torch._dynamo.variables.nn_module")
_Place = tuple[str, tuple[str, ...]]  # a path and its parts
_NOWHERE: _Place = ("", ())


class _Paths:
    """Paths such as "encoder.0", by parent and child: torch walks the whole tree for one. Keeps no module alive."""

    def __init__(self) -> None:
        # By the parent's id, then by the child's: modules may define their own comparison. The weak reference removes
        # the entry before the id can be reused.
        self._known: dict[int, tuple[weakref.ref[Any], dict[int, _Place]]] = {}

    def known(self, parent: Any, child: Any) -> str:
        """The path found by the last walk; empty: there was none, or the tree has changed since."""
        known = self._known.get(id(parent))
        if known is None:
            return ""
        path, parts = known[1].get(id(child), _NOWHERE)
        for part in parts:
            inside: Any = getattr(parent, "_modules", ())  # get_submodule takes ten times as long
            if part not in inside:
                return ""
            parent = inside[part]
        return path if parent is child else ""

    def walk(self, parent: Any) -> None:
        """Find the paths of all modules inside the parent."""
        key = id(parent)
        found: dict[int, _Place] = {key: _NOWHERE}
        _find_paths(parent, (), found)
        self._known[key] = (weakref.ref(parent, lambda _: self._forget(key)), found)

    def _forget(self, key: int) -> None:
        self._known.pop(key, None)


def _find_paths(module: Any, above: tuple[str, ...], found: dict[int, _Place]) -> None:
    """As named_modules(), which needs hashable modules and may be overridden by the program."""
    for name, child in module._modules.items():  # noqa: SLF001  (named_children() is slow)
        if child is not None and id(child) not in found:
            parts = (*above, name)
            found[id(child)] = (".".join(parts), parts)
            _find_paths(child, parts, found)


_paths = _Paths()


class TorchModules:
    """Traces one module and, with `inside`, all inside it; every module if none is given. Keeps none alive.

    Several at the same time share the spans: a forward is recorded once. `around` are two functions of a profile,
    called before and after a forward of the given module, which trace the operators of that thread.
    """

    def __init__(
        self,
        module: Any = None,
        *,
        inside: bool = True,
        stack: bool = False,
        around: tuple[Callable[[], None], Callable[[], None]] | None = None,
    ) -> None:
        self.all = module is None and inside
        self.stack = stack
        self.around = around
        self._root = id(module)
        self._named: dict[int, tuple[weakref.ref[Any], str]] = {}
        if module is not None:
            root = type(module).__name__
            for path, one in module.named_modules() if inside else [("", module)]:
                self._named[id(one)] = (weakref.ref(one), f"{root}.{path}" if path else root)
        if self.all or self._named:
            _listen(self, on=True)

    def name(self, module: Any) -> str | None:
        """The path of this module in the given one."""
        known = self._named.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def is_root(self, module: Any) -> bool:
        """Is this the given module?"""
        return id(module) == self._root and self.name(module) is not None

    def close(self) -> None:
        """Stop tracing."""
        _listen(self, on=False)


class _Listeners:
    """All that trace, and what they request together. Immutable."""

    def __init__(self, listeners: tuple[TorchModules, ...]) -> None:
        self.each = listeners
        self.roots = tuple(one for one in listeners if not one.all)
        self.all = any(one.all for one in listeners)
        self.profiles = any(one.all and one.around is not None for one in listeners)
        self.stack = any(one.stack for one in listeners)


_listeners = _Listeners(())


class _Forward:
    """A running forward."""

    __slots__ = ("about", "after", "inner", "module", "name", "profiled", "start", "walked")

    def __init__(self, module: Any, inner: Any, name: str, about: str, profiled: bool) -> None:
        self.module = module
        self.inner = inner  # the module that a compiled module will call: not a second forward
        self.name = name
        self.about = about
        self.profiled = profiled  # requested by a profile: operators belong to it
        self.walked = False  # the paths inside the module were found during this forward
        self.after: list[Callable[[], None]] | None = None
        self.start = 0


def innermost() -> str:
    """The name of the running module of this thread, of those that a profile requested; empty: none."""
    opened: list[_Forward] = _local.__dict__.get("open", [])
    return next((forward.name for forward in reversed(opened) if forward.profiled), "")


def _enter(module: Any) -> _Forward | None:
    """A call begins; None: it is not traced. An error of Eventide never reaches the program."""
    listeners = _listeners
    if not listeners.each:
        return None
    try:
        opened: list[_Forward] = _local.open
    except AttributeError:
        opened = _local.open = []
    depth = len(opened)
    try:
        parent = opened[-1] if depth else None
        if parent is not None and parent.inner is module:
            parent.inner = None
            return None
        given = next((name for one in listeners.roots if (name := one.name(module))), "") if listeners.roots else ""
        if not given and not listeners.all:
            return None
        kind = type(module).__name__
        runs, inner = module, None
        compiled = module._compiled_call_impl is not None  # noqa: SLF001  (by module.compile())
        if kind == "OptimizedModule":  # by torch.compile, or by torch.compiler.disable
            runs = inner = module._orig_mod  # noqa: SLF001  (as above)
            kind, compiled = type(runs).__name__, type(module.dynamo_ctx).__name__ != "DisableContext"
        name = given or kind
        if not given and parent is not None:
            path = _paths.known(parent.module, module) or _find_path(module, parent)
            name = f"{parent.name}.{path}" if path else kind
        forward = _Forward(runs, inner, name, _about(kind, compiled), listeners.profiles or bool(given))
        opened.append(forward)
        if listeners.roots:
            _surround(forward, module, listeners)
        forward.start = _native.now_ns()
    except BaseException as error:
        del opened[depth:]
        if not isinstance(error, Exception):
            raise
        _failed(module)
        return None
    return forward


def _surround(forward: _Forward, module: Any, listeners: _Listeners) -> None:
    forward.after = []
    for one in listeners.roots:
        if one.around is not None and (one.is_root(module) or one.is_root(forward.module)):
            one.around[0]()
            forward.after.append(one.around[1])


def _leave(forward: _Forward | None) -> None:
    if forward is None:
        return
    try:
        end = _native.now_ns()
        opened = _local.open
        while opened and opened.pop() is not forward:
            pass  # its end was interrupted by Ctrl-C
        if forward.after:
            for after in forward.after:
                after()
        stack = _native.capture_stack() if _listeners.stack else 0
        _native.record_span(None, forward.name, "module", forward.start, end, forward.about, stack)
    except Exception:  # noqa: BLE001  (never into the program)
        _failed(forward.module)


def _find_path(module: Any, parent: _Forward) -> str:
    """Its path in the module whose forward calls it, searched once a forward; empty: not inside it."""
    if parent.walked:
        return ""
    parent.walked = True
    _paths.walk(parent.module)
    return _paths.known(parent.module, module)


@functools.lru_cache(4096)
def _about(kind: str, compiled: bool) -> str:
    return json.dumps({"type": kind, "compiled": True} if compiled else {"type": kind})


def _failed(module: Any) -> None:
    if not _local.__dict__.get("failed"):
        _local.failed = True
        _log.exception("a forward of %s was not recorded, the program continues", type(module).__name__)


def _install_call(installation: Installation) -> None:
    """Wrap nn.Module.__call__.

    Not by torch's global hooks: with those, torch.compile warns, and compiles something else. The compiler must not
    detect the wrapper either. As a frame, the wrapper is skipped and the frames inside it are compiled: if compiled,
    its one code object would serve all modules, and recompiles of one code object are limited. Where the compiler
    inlines calls of modules, it has a shortcut for the unpatched nn.Module.__call__, as which it gets our wrapper.
    """
    original = torch.nn.Module.__call__
    call, turn_off = _traced_call(original)
    installation.replace(torch.nn.Module, "__call__", call, turn_off)
    _replace_in_dynamo(original, call)
    installation.on_uninstall(functools.partial(_replace_in_dynamo, call, original))


def _traced_call(original: Any) -> tuple[Any, Callable[[], None]]:
    """As switch(), in one function: the compiler skips one code object, and a call of a module is frequent."""
    is_compiling = torch.compiler.is_compiling
    on = True

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():  # first: the compiler sees nothing below
            return original(self, *args, **kwargs)
        forward = _enter(self) if on else None
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            _leave(forward)
            # The first entry is this frame, and a bare raise adds none: the traceback is that of the program.
            trace = error.__traceback__
            error.with_traceback(trace.tb_next if trace is not None else None)
            raise
        _leave(forward)
        return result

    ours: Any = call
    _native.hide_code(ours.__code__)  # in stacks
    _skip(ours, inside=False)
    _skip(_enter, inside=True)
    _skip(_leave, inside=True)

    def turn_off() -> None:
        nonlocal on
        on = False

    return ours, turn_off


def _skip(function: Any, *, inside: bool) -> None:
    """torch.compile does not compile this function, nor, if `inside`, what it calls."""
    frames = torch._C._dynamo.eval_frame  # noqa: SLF001  (the interface of torch._dynamo, whose import takes a second)
    action = frames._FrameAction  # noqa: SLF001  (as above)
    strategy = frames._FrameExecStrategy(action.SKIP, action.SKIP if inside else action.DEFAULT)  # noqa: SLF001  (as above)
    frames.set_code_exec_strategy(function.__code__, strategy)


def _replace_in_dynamo(before: Any, now: Any) -> None:
    """Replace what torch._dynamo stored as nn.Module.__call__ when it was imported."""
    for name in _DYNAMO_MODULES:
        module = sys.modules.get(name)
        if module is not None and getattr(module, _DYNAMO_NAME, None) is before:
            setattr(module, _DYNAMO_NAME, now)


def _listen(listener: TorchModules, *, on: bool) -> None:
    with _lock:
        others = tuple(one for one in _listeners.each if one is not listener)
        _replace((*others, listener) if on else others)


def _replace(listeners: tuple[TorchModules, ...]) -> None:
    global _listeners  # noqa: PLW0603  (a running call continues with the old one)
    if listeners and not _installation.installed:
        _installation.install(functools.partial(_install_call, _installation))
    elif not listeners:
        _installation.uninstall()
    _listeners = _Listeners(listeners)


def _after_fork() -> None:
    """The recording and its listeners belong to the parent."""
    global _lock  # noqa: PLW0603  (another thread of the parent may have held it)
    _lock = threading.Lock()
    _replace(())


process.after_fork(_after_fork)
