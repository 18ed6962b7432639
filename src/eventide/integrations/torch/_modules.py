"""Modules of torch: the forward of the profiled module, and of those inside it, or of all, as spans. Imports torch."""

from __future__ import annotations

import functools
import json
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util import process
from eventide.integrations.torch._calls import Calls
from eventide.integrations.torch._names import Names

_log = logging.getLogger("eventide.profiler")
_local = threading.local()  # .open: the forwards that run on this thread; .failed: a mistake of ours was logged
_lock = threading.Lock()  # guards the replacing of _audience
_names = Names()


class TorchModules:
    """One module and, if asked, all inside it; every module if none was given. Keeps none alive.

    Who listens at the same time shares the spans: a forward is one. `around` is of a profile: called before and after
    a forward of the module that was given, it hears the operators of threads.
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
        """What the module that was given calls this one."""
        known = self._named.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def is_root(self, module: Any) -> bool:
        """Is this the module that was given?"""
        return id(module) == self._root and self.name(module) is not None

    def close(self) -> None:
        """Listen no more."""
        _listen(self, on=False)


class _Audience:
    """Who listens, and what they want together. Replaced, never changed."""

    def __init__(self, listeners: tuple[TorchModules, ...]) -> None:
        self.listeners = listeners
        self.roots = tuple(one for one in listeners if not one.all)
        self.all = any(one.all for one in listeners)
        self.profiles = any(one.all and one.around is not None for one in listeners)
        self.stack = any(one.stack for one in listeners)


_audience = _Audience(())


class _Forward:
    """One forward that runs."""

    __slots__ = ("about", "after", "again", "module", "name", "profiled", "start", "walked")

    def __init__(self, module: Any, again: Any, name: str, about: str, profiled: bool) -> None:
        self.module = module
        self.again = again  # what torch.compile made of a module stands for it, and will call it: no second forward
        self.name = name
        self.about = about
        self.profiled = profiled  # a profile asked for it: operators belong to it
        self.walked = False  # the module has been asked for the names inside it, during this forward
        self.after: list[Callable[[], None]] | None = None
        self.start = 0


def innermost() -> str:
    """The name of the module that runs on this thread, of those that a profile asked for; empty: none."""
    opened: list[_Forward] = _local.__dict__.get("open", [])
    return next((forward.name for forward in reversed(opened) if forward.profiled), "")


def _enter(module: Any) -> _Forward | None:
    """A call begins; None: it is not heard. A mistake of ours never reaches the program."""
    audience = _audience
    if not audience.listeners:
        return None
    try:
        opened: list[_Forward] = _local.open
    except AttributeError:
        opened = _local.open = []
    depth = len(opened)
    try:
        parent = opened[-1] if depth else None
        if parent is not None and parent.again is module:
            parent.again = None
            return None
        given = next((name for one in audience.roots if (name := one.name(module))), "") if audience.roots else ""
        if not given and not audience.all:
            return None
        kind = type(module).__name__
        runs, again = module, None
        compiled = module._compiled_call_impl is not None  # noqa: SLF001  (by module.compile())
        if kind == "OptimizedModule":  # by torch.compile, or by torch.compiler.disable
            runs = again = module._orig_mod  # noqa: SLF001  (as above)
            kind, compiled = type(runs).__name__, type(module.dynamo_ctx).__name__ != "DisableContext"
        name = given or kind
        if not given and parent is not None:
            path = _names.remembered(parent.module, module) or _learnt(module, parent)
            name = f"{parent.name}.{path}" if path else kind
        forward = _Forward(runs, again, name, _about(kind, compiled), audience.profiles or bool(given))
        opened.append(forward)
        if audience.roots:
            _surround(forward, module, audience)
        forward.start = _native.now_ns()
    except BaseException as error:
        del opened[depth:]
        if not isinstance(error, Exception):
            raise
        _failed(module)
        return None
    return forward


def _surround(forward: _Forward, module: Any, audience: _Audience) -> None:
    forward.after = []
    for one in audience.roots:
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
            pass  # one that Ctrl-C kept from ending
        if forward.after:
            for after in forward.after:
                after()
        stack = _native.capture_stack() if _audience.stack else 0
        _native.record_span(None, forward.name, "module", forward.start, end, forward.about, stack)
    except Exception:  # noqa: BLE001  (never into the program)
        _failed(forward.module)


def _learnt(module: Any, parent: _Forward) -> str:
    """Its path in the module whose forward calls it, asked anew, but once a forward; empty: it is not there."""
    if parent.walked:
        return ""
    parent.walked = True
    _names.walk(parent.module)
    return _names.remembered(parent.module, module)


@functools.lru_cache(4096)
def _about(kind: str, compiled: bool) -> str:
    return json.dumps({"type": kind, "compiled": True} if compiled else {"type": kind})


def _failed(module: Any) -> None:
    if not _local.__dict__.get("failed"):
        _local.failed = True
        _log.exception("a forward of %s was not recorded, the program goes on", type(module).__name__)


_calls = Calls(_enter, _leave)


def _listen(listener: TorchModules, *, on: bool) -> None:
    with _lock:
        others = tuple(one for one in _audience.listeners if one is not listener)
        _replace((*others, listener) if on else others)


def _replace(listeners: tuple[TorchModules, ...]) -> None:
    global _audience  # noqa: PLW0603  (whoever asks the old one goes on with it)
    if listeners:
        _calls.install()
    else:
        _calls.uninstall()
    _audience = _Audience(listeners)


def _after_fork() -> None:
    """The recording is the parent's, and so are those who listen."""
    global _lock  # noqa: PLW0603  (a thread of the parent's may have held it)
    _lock = threading.Lock()
    _replace(())


process.after_fork(_after_fork)
