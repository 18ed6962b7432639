"""The adapter of Triton: each compile that Triton tells of when it is over, with its stages and cache hits; launches.

install()      idempotent; imports triton.knobs
uninstall()    Triton is as it was

Triton has one place for a listener of compiles: whoever had it is still called, first. It tells nothing at the start of
a compile, and no compile in interpreter mode. Launches are spans of the thread that launched (_launches.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from eventide.compiling import CallbackTrigger, callback_handler
from eventide.integrations._guard import guarded
from eventide.integrations._unheard import LACKS, unheard
from eventide.integrations.triton import _launches

_lock = threading.Lock()  # guards _undo
_undo: list[Callable[[], None]] = []


def install() -> None:
    """Hear Triton from now on."""
    with _lock:
        if _undo:
            return
        try:
            knobs = import_module("triton.knobs")
            _chain(knobs)
            _launches.install(knobs, _undo)
        except LACKS as error:
            _restore()
            raise unheard("triton", error) from error


def uninstall() -> None:
    """Hear it no more. If somebody chained themselves to us meanwhile, we stay in their chain and say nothing."""
    with _lock:
        _restore()


def _restore() -> None:
    while _undo:
        _undo.pop()()


def _chain(knobs: Any) -> None:
    ours = _Chained(knobs.compilation.listener)
    knobs.compilation.listener = ours

    def leave() -> None:
        ours.silent = True
        if knobs.compilation.listener is ours:
            knobs.compilation.listener = ours.before

    _undo.append(leave)


def installed() -> bool:
    """True between install() and uninstall()."""
    return bool(_undo)


class _Chained:
    """Triton's listener: the one before us, then us."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.silent = False

    def __call__(self, **told: Any) -> None:
        if self.before is not None:
            self.before(**told)
        if not self.silent:
            _compiled(**told)


@guarded
def _compiled(*, src: Any, metadata: Any, times: Any, cache_hit: bool, **_: Any) -> None:
    known: dict[str, Any] = metadata if isinstance(metadata, dict) else vars(metadata)
    stages = [("initialize", times.ir_initialization), *times.lowering_stages, ("store", times.store_results)]
    callback_handler.report(
        CallbackTrigger.TRITON,
        f"triton/{known.get('hash') or getattr(src, 'name', '')}",
        duration_ns=round(times.total * 1000),  # Triton counts microseconds
        name=str(known.get("name") or getattr(src, "name", "") or "") or None,
        cache_hit=bool(cache_hit),
        stages_ns=tuple((name, round(microseconds * 1000)) for name, microseconds in stages),
        details={"target": str(known["target"])} if "target" in known else {},
    )
