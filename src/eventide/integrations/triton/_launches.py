"""Triton's launches as spans of the host thread: from its launch hooks, and in interpreter mode around each run.

The hooks get what Triton has at hand: the kernel's name and the stream's handle. A kernel's own `launch_metadata` is
code of the program and computed only on request; we do not request it, and record it where another hook did. Triton
does not report when the kernel ran: inside work on one of our streams, the times of the work show it.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from typing import Any

from eventide import _native
from eventide.integrations._patch import Installation, guarded

_INTERPRETER = "triton.runtime.interpreter"
_local = threading.local()  # .open: launches that run on this thread as (metadata, start), the innermost last


def install(knobs: Any, installation: Installation) -> None:
    """Trace launches until the installation is removed."""
    for chain, hook in ((knobs.runtime.launch_enter_hook, _entered), (knobs.runtime.launch_exit_hook, _left)):
        chain.add(hook)
        installation.on_uninstall(functools.partial(chain.remove, hook))
    installation.when_imported(_INTERPRETER, functools.partial(_patch_interpreter, installation))


@guarded
def _entered(metadata: Any) -> None:
    if _native.recorder_path():
        _open().append((metadata, time.monotonic_ns()))


@guarded
def _left(metadata: Any) -> None:
    launches = _open()
    if not any(one is metadata for one, _ in launches):
        return
    while launches:  # a launch that failed has no exit
        one, start = launches.pop()
        if one is metadata:
            known = dict(metadata.data)
            name = str(known.pop("name", "kernel"))
            known.pop("function", None)  # the driver's handle
            _record(name, "runtime", start, known)
            return


def _patch_interpreter(installation: Installation) -> None:
    """The interpreter runs a kernel on the host, program by program, within one call."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder

    def traced(original: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            start = time.monotonic_ns()
            try:
                return original(self, *args, **kwargs)
            finally:
                _interpreted(self, builder, start)

        return call

    installation.wrap(interpreter.GridExecutor, "__call__", traced)


@guarded
def _interpreted(executor: Any, builder: Any, start: int) -> None:
    if _native.recorder_path():
        name = getattr(executor.fn, "__name__", "kernel")
        _record(name, "op", start, {"grid": getattr(builder, "grid_dim", None), "interpreted": True})


def _record(name: str, category: str, start: int, about: dict[str, Any]) -> None:
    args = json.dumps({"framework": "triton", **about}, default=str)
    _native.record_span(None, name, category, start, time.monotonic_ns(), args)


def _open() -> list[tuple[Any, int]]:
    found: list[tuple[Any, int]] = _local.__dict__.setdefault("open", [])
    return found
