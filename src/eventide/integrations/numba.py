"""The integration of Numba: each compile of a dispatcher, nested ones too, and each overload from the disk cache.

install()      idempotent; imports numba.core.dispatcher
uninstall()    restores Numba

Numba reports compiles under its compiler lock, where no code of the user may run: so we wrap `compile` of its
dispatchers, outside that lock, and take from its events only what was compiled in between. Calls are not traced.
"""

from __future__ import annotations

import itertools
import threading
from functools import partial
from typing import Any

from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.integrations._patch import Installation, guarded

__all__ = ["install", "installed", "uninstall"]

_CLASSES = ("Dispatcher", "LiftedLoop", "LiftedWith")
_KIND = "numba:compile"
_numbers = itertools.count(1)
_local = threading.local()  # .outermost: the compile that this thread runs
_installation = Installation("numba")


class _Outermost:
    """A compile that began outside the lock, and those that ran inside it."""

    def __init__(self, compile_: Compile) -> None:
        self.compile = compile_
        self.begun = 0  # compiles that Numba has begun; the first is this one
        self.running: list[Compile | None] = []  # None: this one
        self.complete: list[tuple[Compile, dict[str, Any]]] = []


def install() -> None:
    """Trace Numba from now on."""
    _installation.install(_apply, "numba.core.event", "numba.core.dispatcher", "numba.core.compiler_lock")


def uninstall() -> None:
    """Stop tracing and restore Numba."""
    _installation.uninstall()


def installed() -> bool:
    """True between install() and uninstall()."""
    return _installation.installed


def _apply(event: Any, dispatcher: Any, compiler_lock: Any) -> None:
    listener = _listener(event)
    event.register(_KIND, listener)
    _installation.on_uninstall(partial(event.unregister, _KIND, listener))
    dispatcher.Dispatcher.compile  # noqa: B018  (the one that must exist)
    for name in _CLASSES:
        if (kind := getattr(dispatcher, name, None)) is not None and "compile" in vars(kind):
            _installation.wrap(kind, "compile", partial(_traced, compiler_lock.global_compiler_lock))


def _traced(compiler_lock: Any, original: Any) -> Any:
    def compile(self: Any, sig: Any) -> Any:  # noqa: A001  (its name in Numba)
        outermost = None if compiler_lock.is_locked() else _begin(self, sig)
        if outermost is None:
            return original(self, sig)
        _local.outermost = outermost
        try:
            result = original(self, sig)
        except BaseException as error:
            _finish(outermost, error)
            raise
        _finish(outermost, None)
        return result

    return compile


@guarded
def _begin(dispatcher: Any, sig: Any) -> _Outermost | None:
    """None: there is nothing to compile."""
    if isinstance(sig, tuple) and sig in dispatcher.overloads:
        return None
    return _Outermost(_compile(dispatcher))


def _compile(dispatcher: Any) -> Compile:
    function = getattr(dispatcher, "py_func", None) or getattr(getattr(dispatcher, "func_ir", None), "func_id", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "func_qualname", None)
    return callback_handler.begin(CallbackTrigger.NUMBA, f"numba/{next(_numbers)}", name=name)


@guarded
def _finish(outermost: _Outermost, error: BaseException | None) -> None:
    _local.outermost = None
    outermost.compile.stop(error)
    for compile_, known in outermost.complete:
        compile_.publish(**known)
    outermost.compile.publish(cache_hit=None if error is not None else outermost.begun == 0)


def _listener(event: Any) -> Any:
    class Listener(event.Listener):  # type: ignore[misc]
        """Called under Numba's lock: takes notes, and calls no code of the user."""

        @guarded
        def on_start(self, event: Any) -> None:
            outermost: _Outermost | None = getattr(_local, "outermost", None)
            if outermost is not None:
                outermost.begun += 1
                outermost.running.append(None if outermost.begun == 1 else _compile(event.data["dispatcher"]))

        @guarded
        def on_end(self, event: Any) -> None:
            outermost: _Outermost | None = getattr(_local, "outermost", None)
            if outermost is None or not outermost.running:
                return
            compile_ = outermost.running.pop()
            if compile_ is not None:
                details = getattr(event, "_exc_details", None)
                compile_.stop(details[1] if details else None)
                signature = ", ".join(map(str, event.data.get("args", ())))
                outermost.complete.append((compile_, {"cache_hit": False, "details": {"signature": signature}}))

    return Listener()
