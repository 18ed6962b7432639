"""torch.compile feeds the compile callbacks.

torch calls `install_callbacks` of one object, torch._dynamo.callback_handler, for each compile, nested ones too. We
wrap that method: our callbacks run before torch takes the lock of its counter and after it has released it, on the
thread that compiles. torch._dynamo.reset() removes torch's callbacks, not ours. torch reports the details of a compile
when it is complete, as metrics (_compile_metrics.py); our record is published with them.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from types import CodeType, FrameType, TracebackType
from typing import Any

from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.integrations._patch import Installation, guarded, version_of
from eventide.integrations.torch import _compile_metrics as metrics

MODULE = "torch._dynamo.callback"
_log = logging.getLogger("eventide.integrations")

# a/b or !c/a/b, with _attempt: b counts the compiles of one frame.
_COMPILE_ID = re.compile(r"(?:!\d+/)?\d+/(\d+)")


def install(installation: Installation) -> None:
    """Trace torch.compile until the installation is removed; torch's compiler need not be imported yet."""
    installation.on_uninstall(metrics.stop_collecting)
    installation.on_uninstall(metrics.flush)
    installation.when_imported(MODULE, partial(_patch, installation))


def _patch(installation: Installation) -> None:
    handler: Any = getattr(sys.modules[MODULE], "callback_handler", None)
    if not hasattr(handler, "install_callbacks"):
        version = version_of("torch")
        _log.warning("torch %s: %s has no callback_handler.install_callbacks; compiles are not traced", version, MODULE)
        return
    installation.wrap(handler, "install_callbacks", lambda original: partial(_TracedCompile, original))


class _TracedCompile:
    """Wraps torch's own context manager. No error of Eventide reaches torch, except Ctrl-C."""

    __slots__ = ("_compile", "_inner")

    def __init__(self, original: Callable[..., AbstractContextManager[Any]], *args: Any, **kwargs: Any) -> None:
        self._inner = original(*args, **kwargs)
        self._compile = _begin(*args, **kwargs)

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return self._inner.__exit__(kind, error, trace)
        finally:
            if self._compile is not None:
                _end(self._compile, error)


@guarded
def _begin(trigger: Any = None, compile_id: Any = None, *_: Any, **__: Any) -> Compile:
    name = getattr(trigger, "name", "DYNAMO")  # torch 2.6 gives no arguments
    known = CallbackTrigger.__members__.get(name, CallbackTrigger.OTHER)
    metrics.collect()
    metrics.flush()  # compiles without metrics
    identity = str(compile_id)
    code = _code_being_compiled()
    function = code.co_name if code is not None else metrics.name_of(identity)
    if code is not None:
        metrics.remember(identity, code)
    return callback_handler.begin(known, identity, name=function)


@guarded
def _end(compile_: Compile, error: BaseException | None) -> None:
    skipped = error is not None and any(kind.__name__ == "SkipFrame" for kind in type(error).__mro__)
    compile_.stop(None if skipped else error)
    known: dict[str, Any] = {"recompile": is_recompile(compile_.args.compile_id)}
    if skipped:  # torch does not compile the function
        known |= {"ok": None, "details": {"skipped": str(error)}}
    if compile_.depth == 0 and metrics.expected():
        metrics.publish_with_metrics(compile_, known)
    else:
        compile_.publish(**known)


def is_recompile(compile_id: str) -> bool | None:
    """0/0 is the first compile of frame 0, 0/1 the second; None for an id of another form."""
    found = _COMPILE_ID.match(compile_id)
    return int(found[1]) > 0 if found else None


def _code_being_compiled() -> CodeType | None:
    """Torch passes only an id; the function is a variable of a calling frame."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (the only way to the frames of callers)
    for _ in range(16):
        if frame is None or frame.f_code.co_name == "compile_inner":
            break
        frame = frame.f_back
    code = frame.f_locals.get("code") if frame is not None else None
    return code if isinstance(code, CodeType) else None
