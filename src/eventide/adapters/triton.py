"""The adapter of Triton: each compile that Triton tells of when it is over, with its stages and cache hits.

install()      idempotent; imports triton.knobs
uninstall()    Triton is as it was

Triton has one place for a listener: whoever had it is still called, first. It tells nothing at the start of a compile
and nothing in interpreter mode.
"""

from __future__ import annotations

import threading
from typing import Any

from eventide.adapters._guard import guarded
from eventide.compiling import CallbackTrigger, callback_handler
from eventide.errors import UsageError

_lock = threading.Lock()  # guards _chained
_chained: _Chained | None = None


def install() -> None:
    """Hear Triton from now on."""
    global _chained  # noqa: PLW0603  (Triton has one place)
    with _lock:
        if _chained is not None:
            return
        try:
            from triton import knobs

            before = knobs.compilation.listener
        except (ImportError, AttributeError) as error:
            raise UsageError(f"triton cannot be heard: {error}; triton 3.4 or later has the listener") from error
        _chained = _Chained(before)
        knobs.compilation.listener = _chained


def uninstall() -> None:
    """Hear it no more. If somebody chained themselves to us meanwhile, we stay in their chain and say nothing."""
    global _chained
    with _lock:
        ours, _chained = _chained, None
        if ours is None:
            return
        from triton import knobs

        ours.silent = True
        if knobs.compilation.listener is ours:
            knobs.compilation.listener = ours.before


def installed() -> bool:
    """True between install() and uninstall()."""
    return _chained is not None


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
        duration=round(times.total * 1000),  # Triton counts microseconds
        name=str(known.get("name") or getattr(src, "name", "") or "") or None,
        cache_hit=bool(cache_hit),
        stages=tuple((name, round(microseconds * 1000)) for name, microseconds in stages),
        details={"target": str(known["target"])} if "target" in known else {},
    )
