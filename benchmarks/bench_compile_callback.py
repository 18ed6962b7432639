"""What does a compile callback cost, against none and against torch's own handler; and what is that of a real compile?

`install_callbacks` around nothing: with one start and one end callback, with one that receives each compile, and
without any; torch's handler has the first and the last. Then real compiles of Numba and JAX with and without their
integrations: a new function each time, so nothing is cached.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks._harness import Missing, Options, Round, Row, compare, pinned, statement
from eventide import integrations
from eventide.compiling import CallbackTrigger, CompilationCallbackHandler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CODE = "with install(trigger, '0/0'): pass"


def nothing(_: object) -> None:
    """A callback."""


def around(handler: Any, trigger: Any, number: int, *, callbacks: bool) -> Round:
    """One compile of nothing."""
    if callbacks:
        handler.register_start_callback(nothing)
        handler.register_end_callback(nothing)
    return statement(CODE, {"install": handler.install_callbacks, "trigger": trigger}, number)


def torch_handler() -> tuple[Callable[[], Any], Any] | Missing:
    try:
        from torch._dynamo.callback import CallbackTrigger as Trigger
        from torch._dynamo.callback import CompilationCallbackHandler as Handler
    except Exception as error:  # noqa: BLE001  torch breaks in many ways
        return Missing(f"torch cannot be imported ({error})")
    return Handler, Trigger.DYNAMO


def callbacks(options: Options) -> Iterator[Row]:
    number = options.number(20_000)
    theirs = torch_handler()
    for what, with_one in (("start and end callback around nothing", True), ("the same, no callback", False)):
        ours = around(_handler(), CallbackTrigger.DYNAMO, number, callbacks=with_one)
        peer: Round | Missing = theirs if isinstance(theirs, Missing) else _peer(theirs, number, with_one)
        yield compare(what, "torch's handler, the same", ours, peer, options)
    ours = around(_handler(), CallbackTrigger.DYNAMO, number, callbacks=True)
    alone = around(_handler(), CallbackTrigger.DYNAMO, number, callbacks=False)
    yield compare("start and end callback around nothing", "ours, no callback", ours, alone, options)


def _handler() -> CompilationCallbackHandler:
    return CompilationCallbackHandler()


def _peer(theirs: tuple[Callable[[], Any], Any], number: int, callbacks: bool) -> Round:
    handler, trigger = theirs
    return around(handler(), trigger, number, callbacks=callbacks)


def numba_compile() -> Callable[[], object]:
    import numba

    return lambda: numba.njit(lambda x: x * 2 + 1)(3)


def jax_compile() -> Callable[[], object]:
    import jax

    x = jax.numpy.arange(8.0)
    return lambda: jax.jit(lambda v: v * 2 + 1)(x).block_until_ready()


def timed(act: Callable[[], object], integration: Any | None) -> Round:
    """Milliseconds of one compile, with the integration installed while it runs."""

    def measure() -> float:
        if integration is not None:
            integration.install()
        try:
            start = time.perf_counter()
            act()
            return (time.perf_counter() - start) * 1e3
        finally:
            if integration is not None:
                integration.uninstall()

    return measure


def rows(options: Options) -> Iterator[Row]:
    with pinned():
        yield from callbacks(options)
    for name, make in (("numba", numba_compile), ("jax", jax_compile)):
        what, against = f"a compile of {name}, traced", f"{name} alone"
        try:
            act = make()
        except Exception as error:  # noqa: BLE001  a framework breaks in many ways
            missing = Missing(f"{name} cannot be used ({error})")
            yield compare(what, against, lambda: 0.0, missing, options, unit="ms")
            continue
        ours, peer = timed(act, getattr(integrations, name)), timed(act, None)
        yield compare(what, against, ours, peer, options, unit="ms")
