"""Where calls of torch's modules are heard: we stand before nn.Module.__call__. Imports torch.

Not by torch's global hooks: with those, torch.compile warns, and compiles something else. Its compiler must not notice
us either. Where it meets our function as a frame it is told to go on to the frames inside: compiled, that one code
would stand for every module, and there is a limit to recompiles of one code. Where it inlines calls of modules it takes
a shortcut past an nn.Module.__call__ that nobody replaced: that is ours, for as long as we are there.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from eventide import _native

Token = TypeVar("Token")
_KNOWN_AS = "unpatched_nn_module_call"
_KNOWN_TO = ("torch._dynamo.utils", "torch._dynamo.variables.nn_module")


class Calls:
    """Between install() and uninstall() each call is an `enter(module)` and a `leave(what that gave)`.

    Neither may raise. Calls that torch.compile or torch.export only trace are not told. Who calls these methods from
    several threads has a lock.
    """

    def __init__(self, enter: Callable[[Any], Token], leave: Callable[[Token], None]) -> None:
        self._told = (enter, leave)
        self._original: Any = None
        self._ours: Any = None  # kept while somebody who replaced it may still call it

    def install(self) -> None:
        """Idempotent."""
        there = torch.nn.Module.__call__
        if self._ours is None or there is self._original:
            self._original, self._ours = there, _standing_before(there, *self._told)
            torch.nn.Module.__call__ = self._ours
        _tell_dynamo(self._original, self._ours)

    def uninstall(self) -> None:
        """As it was; but what somebody else put in our place stays."""
        _tell_dynamo(self._ours, self._original)
        if self._ours is not None and torch.nn.Module.__call__ is self._ours:
            torch.nn.Module.__call__ = self._original
            self._ours = None


def _standing_before(original: Any, enter: Callable[[Any], Token], leave: Callable[[Token], None]) -> Any:
    is_compiling = torch.compiler.is_compiling

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():  # first: what the compiler sees of us ends here
            return original(self, *args, **kwargs)
        heard = enter(self)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            leave(heard)
            # The first entry is this frame, and a bare raise adds none: the traceback is the program's own.
            trace = error.__traceback__
            error.with_traceback(trace.tb_next if trace is not None else None)
            raise
        leave(heard)
        return result

    ours: Any = call
    _native.hide_code(ours.__code__)  # from stacks
    _skip(ours, inside=False)
    _skip(enter, inside=True)
    _skip(leave, inside=True)
    return ours


def _skip(function: Any, *, inside: bool) -> None:
    """torch.compile leaves this function to Python, and if asked what it calls as well."""
    frames = torch._C._dynamo.eval_frame  # noqa: SLF001  (torch._dynamo's own way, which takes a second to import)
    action = frames._FrameAction  # noqa: SLF001  (as above)
    strategy = frames._FrameExecStrategy(action.SKIP, action.SKIP if inside else action.DEFAULT)  # noqa: SLF001  (as above)
    frames.set_code_exec_strategy(function.__code__, strategy)


def _tell_dynamo(before: Any, now: Any) -> None:
    """What it took for nn.Module.__call__, when it was imported, is another now."""
    for name in _KNOWN_TO:
        module = sys.modules.get(name)
        if module is not None and getattr(module, _KNOWN_AS, None) is before:
            setattr(module, _KNOWN_AS, now)
