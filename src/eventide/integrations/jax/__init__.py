"""The integration of JAX: its monitoring reports tracing, lowering and compiling, and the compilation cache.

install()      idempotent; imports jax.monitoring and jax.profiler
uninstall()    restores JAX
profile()      a context manager: JAX's own profiler, without its Python tracer, for what runs in the block

Each of the three phases is reported to ``eventide.compiling``, named after the function, with its phase in the details;
those of one compile have one id. JAX reports streams and launches only in a profile: what `jax.profiler` wrote for the
program, or for `profile()`, is recorded when it stops. No profile is taken by default, because of its cost.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from eventide._util.public_names import publish
from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.integrations._patch import Installation, guarded
from eventide.integrations.jax import _profile
from eventide.integrations.jax._profile import profile

__all__ = ["install", "installed", "profile", "uninstall"]

publish(__name__, globals(), ("profile",))

PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "backend compile",
}
CACHE = {"/jax/compilation_cache/cache_hits": True, "/jax/compilation_cache/cache_misses": False}

_numbers = itertools.count(1)
_local = threading.local()  # .open: phases that run on this thread, the innermost last; .last: function and number
_installation = Installation("jax")


class _Open:
    """A phase that has begun."""

    def __init__(self, event: str, function: str) -> None:
        self.event = event
        self.number = _number_of(event, function)
        self.handled = sys.exc_info()[1]  # an error that the program was handling at the start
        self.cache_hit: bool | None = None
        self.compile: Compile = callback_handler.begin(CallbackTrigger.JAX, f"jax/{self.number}", name=function)


def install() -> None:
    """Trace JAX from now on."""
    _installation.install(_apply, "jax.monitoring", "jax.profiler")


def uninstall() -> None:
    """Stop tracing and restore JAX."""
    _installation.uninstall()


def installed() -> bool:
    """True between install() and uninstall()."""
    return _installation.installed


def _apply(monitoring: Any, profiler: Any) -> None:
    for register, unregister, listener in (
        (monitoring.register_scalar_listener, monitoring.unregister_scalar_listener, _began),
        (monitoring.register_event_duration_secs_listener, monitoring.unregister_event_duration_listener, _ended),
        (monitoring.register_event_listener, monitoring.unregister_event_listener, _happened),
    ):
        register(listener)
        _installation.on_uninstall(partial(_unregister, unregister, listener))
    _profile.install(profiler, _installation)


def _unregister(unregister: Callable[[Any], None], listener: Any) -> None:
    with contextlib.suppress(AssertionError, ValueError):  # the program has cleared all listeners
        unregister(listener)


@guarded
def _began(event: str, value: float, *, fun_name: str = "", **_: Any) -> None:  # noqa: ARG001  (JAX's signature)
    if event in PHASES:
        _stack().append(_Open(event, _plain(str(fun_name))))


@guarded
def _happened(event: str, **_: Any) -> None:
    if event in CACHE and _stack():
        _stack()[-1].cache_hit = CACHE[event]


@guarded
def _ended(event: str, duration: float, **_: Any) -> None:  # noqa: ARG001  (ours is measured on the trace's clock)
    if event not in PHASES:
        return
    stack = _stack()
    while stack:  # a phase that began inside this one and has no end
        phase = stack.pop()
        if phase.event == event:
            error = sys.exc_info()[1]
            failed = error if error is not phase.handled else None
            phase.compile.end(failed, cache_hit=phase.cache_hit, details={"phase": PHASES[event]})
            return
        phase.compile.end(ok=None, details={"phase": PHASES[phase.event]})


def _number_of(event: str, function: str) -> int:
    """The number of the compile that a phase belongs to: nested ones are part of the outermost, and lowering and
    compiling follow the tracing of the same function.
    """
    stack = _stack()
    if stack:
        return stack[0].number
    last: tuple[str, int] | None = _local.__dict__.get("last")
    number = last[1] if last and last[0] == function and PHASES[event] != "trace" else next(_numbers)
    _local.last = (function, number)
    return number


def _plain(name: str) -> str:
    """One name for one function: lowering and compiling call `f` "jit(f)"."""
    return name[4:-1] if name.startswith("jit(") and name.endswith(")") else name


def _stack() -> list[_Open]:
    found: list[_Open] = _local.__dict__.setdefault("open", [])
    return found
