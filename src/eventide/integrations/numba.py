"""The adapter of Numba: each compile of a dispatcher, nested ones too, and each overload taken from the disk cache.

install()      idempotent; imports numba.core.dispatcher
uninstall()    Numba is as it was

Numba tells of compiles under its compiler lock, where nobody's code may run: so we stand around `compile` of its
dispatchers, outside that lock, and take from its events only what happened in between. Calls are not heard.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.integrations._guard import guarded
from eventide.integrations._unheard import LACKS, unheard

_CLASSES = ("Dispatcher", "LiftedLoop", "LiftedWith")
_KIND = "numba:compile"
_numbers = itertools.count(1)
_local = threading.local()  # .outer: the compile that this thread is in
_lock = threading.Lock()  # guards _undo
_undo: list[Callable[[], None]] = []


class _Outer:
    """A compile that began outside the lock, and what was compiled within it."""

    def __init__(self, compile_: Compile) -> None:
        self.compile = compile_
        self.told = 0  # compiles that Numba has begun; the first is this one
        self.running: list[Compile | None] = []  # None: this one
        self.over: list[tuple[Compile, dict[str, Any]]] = []


def install() -> None:
    """Hear Numba from now on."""
    with _lock:
        if _undo:
            return
        try:
            event, dispatcher = import_module("numba.core.event"), import_module("numba.core.dispatcher")
            lock = import_module("numba.core.compiler_lock").global_compiler_lock
            listener = _listener(event)
            event.register(_KIND, listener)
            _undo.append(lambda: event.unregister(_KIND, listener))
            dispatcher.Dispatcher.compile  # noqa: B018  the one that must be there
            for name in _CLASSES:
                if (kind := getattr(dispatcher, name, None)) is not None and "compile" in vars(kind):
                    _stand_around(kind, lock)
        except LACKS as error:
            _restore()
            raise unheard("numba", error) from error


def uninstall() -> None:
    """Hear it no more; Numba is as it was."""
    with _lock:
        _restore()


def _restore() -> None:
    while _undo:
        _undo.pop()()


def installed() -> bool:
    """True between install() and uninstall()."""
    return bool(_undo)


def _stand_around(kind: Any, compiler_lock: Any) -> None:
    original = kind.compile

    def compile(self: Any, sig: Any) -> Any:  # noqa: A001  (the name it has there)
        outer = None if compiler_lock.is_locked() else _begin(self, sig)
        if outer is None:
            return original(self, sig)
        _local.outer = outer
        try:
            result = original(self, sig)
        except BaseException as error:
            _finish(outer, error)
            raise
        _finish(outer, None)
        return result

    kind.compile = compile
    _undo.append(lambda: setattr(kind, "compile", original))


@guarded
def _begin(dispatcher: Any, sig: Any) -> _Outer | None:
    """None: there is nothing to compile."""
    if isinstance(sig, tuple) and sig in dispatcher.overloads:
        return None
    return _Outer(_compile(dispatcher))


def _compile(dispatcher: Any) -> Compile:
    function = getattr(dispatcher, "py_func", None) or getattr(getattr(dispatcher, "func_ir", None), "func_id", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "func_qualname", None)
    return callback_handler.begin(CallbackTrigger.NUMBA, f"numba/{next(_numbers)}", name=name)


@guarded
def _finish(outer: _Outer, error: BaseException | None) -> None:
    _local.outer = None
    outer.compile.stop(error)
    for compile_, known in outer.over:
        compile_.publish(**known)
    outer.compile.publish(cache_hit=None if error is not None else outer.told == 0)


def _listener(event: Any) -> Any:
    class Listener(event.Listener):  # type: ignore[misc]
        """Under Numba's lock: notes what happens, and calls nobody."""

        @guarded
        def on_start(self, event: Any) -> None:
            outer: _Outer | None = getattr(_local, "outer", None)
            if outer is not None:
                outer.told += 1
                outer.running.append(None if outer.told == 1 else _compile(event.data["dispatcher"]))

        @guarded
        def on_end(self, event: Any) -> None:
            outer: _Outer | None = getattr(_local, "outer", None)
            if outer is None or not outer.running:
                return
            compile_ = outer.running.pop()
            if compile_ is not None:
                details = getattr(event, "_exc_details", None)
                compile_.stop(details[1] if details else None)
                signature = ", ".join(map(str, event.data.get("args", ())))
                outer.over.append((compile_, {"cache_hit": False, "details": {"signature": signature}}))

    return Listener()
