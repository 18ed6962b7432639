"""torch.compile feeds the compile callbacks.

torch tells each compile, nested ones too, to the `install_callbacks` of one object, torch._dynamo.callback_handler. We
stand in front of that method: our callbacks run before torch takes the lock of its counter and after it has let go, on
the thread that compiles. reset() forgets torch's callbacks, not us. What torch learns about a compile it tells when the
compile is over, as metrics (_compile_metrics.py); our record waits for them.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType, TracebackType
from typing import Any

from eventide._util.on_import import ImportHook, when_imported
from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.errors import UsageError
from eventide.integrations.torch import _compile_metrics as metrics

MODULE = "torch._dynamo.callback"
_log = logging.getLogger("eventide.integrations")

# a/b or !c/a/b, with _attempt: b counts the compiles of one frame.
_COMPILE_ID = re.compile(r"(?:!\d+/)?\d+/(\d+)")


class _State:
    """Who guards what: `lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: ImportHook | None = None  # for torch's compiler to be imported; kept when it was
        self.handler: Any = None  # torch's, while we stand in front of it


_state = _State()


def install() -> None:
    """Hear torch.compile from now on. torch need not be imported yet, and is not imported by this."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError("torch is not installed; pip install torch")
    if installed():
        return
    hook = when_imported(MODULE, _patch)
    with _state.lock:
        _state.waiting = hook


def installed() -> bool:
    """True between install() and uninstall()."""
    return _state.waiting is not None


def uninstall() -> None:
    """Hear it no more; torch is as it was."""
    with _state.lock:
        hook, _state.waiting = _state.waiting, None
        handler, _state.handler = _state.handler, None
    if hook is not None:
        hook.close()
    if handler is not None:
        handler.__dict__.pop("install_callbacks", None)
    metrics.flush()
    metrics.unwatch()


def _patch() -> None:
    handler: Any = getattr(sys.modules[MODULE], "callback_handler", None)
    original = getattr(handler, "install_callbacks", None)
    if original is None:
        version = getattr(sys.modules.get("torch"), "__version__", "?")
        _log.warning("torch %s: %s has no callback_handler.install_callbacks; compiles are not heard", version, MODULE)
        return
    with _state.lock:
        _state.handler = handler
    handler.install_callbacks = lambda *args, **kwargs: _Watched(original, args, kwargs)


class _Watched:
    """Stands around torch's own context manager. Nothing of ours gets into torch but Ctrl-C."""

    __slots__ = ("_compile", "_inner")

    def __init__(
        self, original: Callable[..., AbstractContextManager[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._inner = original(*args, **kwargs)
        self._compile: Compile | None = None
        try:
            self._compile = _begin(*args, **kwargs)
        except Exception:  # noqa: BLE001  (never into torch)
            _log.exception("a compile of torch is not heard")

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return self._inner.__exit__(kind, error, trace)
        finally:
            if self._compile is not None:
                try:
                    _end(self._compile, error)
                except Exception:  # noqa: BLE001  (never into torch)
                    _log.exception("the end of a compile of torch is not heard")


def _begin(trigger: Any = None, compile_id: Any = None, *_: Any, **__: Any) -> Compile:
    name = getattr(trigger, "name", "DYNAMO")  # torch 2.6 gives no arguments
    known = CallbackTrigger.__members__.get(name, CallbackTrigger.OTHER)
    metrics.watch()
    metrics.flush()  # what torch told nothing about
    identity = str(compile_id)
    code = _code_being_compiled()
    function = code.co_name if code is not None else metrics.name_of(identity)
    if code is not None:
        metrics.remember(identity, code)
    return callback_handler.begin(known, identity, name=function)


def _end(compile_: Compile, error: BaseException | None) -> None:
    skipped = error is not None and any(kind.__name__ == "SkipFrame" for kind in type(error).__mro__)
    compile_.stop(None if skipped else error)
    known: dict[str, Any] = {"recompile": is_recompile(compile_.args.compile_id)}
    if skipped:  # torch looked at the function and left it to Python
        known |= {"ok": None, "details": {"skipped": str(error)}}
    if compile_.depth == 0 and metrics.coming():
        metrics.wait_for(compile_, known)
    else:
        compile_.publish(**known)


def is_recompile(compile_id: str) -> bool | None:
    """0/0 is the first compile of frame 0, 0/1 the second; None where the id says nothing."""
    found = _COMPILE_ID.match(compile_id)
    return int(found[1]) > 0 if found else None


def _code_being_compiled() -> CodeType | None:
    """Torch tells only an id; the function is a variable of the frame that calls us."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (the one way to the frames of callers)
    for _ in range(12):
        if frame is None or frame.f_code.co_name == "compile_inner":
            break
        frame = frame.f_back
    code = frame.f_locals.get("code") if frame is not None else None
    return code if isinstance(code, CodeType) else None
