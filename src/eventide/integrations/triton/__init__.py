"""The integration of Triton: each compile with its stages and cache hits, reported when it is complete; launches.

install()      idempotent; imports triton.knobs
uninstall()    restores Triton

Triton has room for one listener of compiles: the one that was there before ours is called first. Triton reports nothing
at the start of a compile, and compiles nothing in interpreter mode. Launches are spans of the launching thread
(_launches.py).
"""

from __future__ import annotations

from typing import Any

from eventide.compiling import CallbackTrigger, callback_handler
from eventide.integrations._patch import Installation, guarded
from eventide.integrations.triton import _launches

__all__ = ["install", "installed", "uninstall"]

_installation = Installation("triton")


def install() -> None:
    """Trace Triton from now on."""
    _installation.install(_apply, "triton.knobs")


def uninstall() -> None:
    """Stop tracing. A listener that calls ours stays where it is, and ours does nothing."""
    _installation.uninstall()


def installed() -> bool:
    """True between install() and uninstall()."""
    return _installation.installed


def _apply(knobs: Any) -> None:
    ours = _Chained(knobs.compilation.listener)
    _installation.replace(knobs.compilation, "listener", ours, ours.turn_off)
    _launches.install(knobs, _installation)


class _Chained:
    """Triton's listener: calls the previous one, then ours."""

    def __init__(self, previous: Any) -> None:
        self._previous = previous
        self._on = True

    def turn_off(self) -> None:
        """Call only the previous one from now on."""
        self._on = False

    def __call__(self, **compiled: Any) -> None:
        if self._previous is not None:
            self._previous(**compiled)
        if self._on:
            _compiled(**compiled)


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
