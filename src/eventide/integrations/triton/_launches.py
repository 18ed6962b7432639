"""Triton's launches as spans of the host thread: from its launch hooks, and in interpreter mode around each run.

The hooks get what Triton knows without asking anybody: the kernel's name and the stream's handle. What a kernel's own
`launch_metadata` would add is computed only for those who ask; we do not, since that is the program's code, but take it
where somebody did. When the kernel ran is not told: inside work on one of our streams the work's own times say it.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util.on_import import when_imported
from eventide.integrations._guard import guarded

_INTERPRETER = "triton.runtime.interpreter"
_local = threading.local()  # .open: launches that run on this thread as (metadata, start), the innermost last


def install(knobs: Any, undo: list[Callable[[], None]]) -> None:
    """Hear launches; what ends it is added to `undo`."""
    for chain, hook in ((knobs.runtime.launch_enter_hook, _entered), (knobs.runtime.launch_exit_hook, _left)):
        chain.add(hook)
        undo.append(functools.partial(chain.remove, hook))
    undo.append(when_imported(_INTERPRETER, functools.partial(_stand_around, undo)).close)


@guarded
def _entered(metadata: Any) -> None:
    if _native.recorder_path():
        _open().append((metadata, time.monotonic_ns()))


@guarded
def _left(metadata: Any) -> None:
    launches = _open()
    if not any(one is metadata for one, _ in launches):
        return
    while launches:  # a launch that failed was never left
        one, start = launches.pop()
        if one is metadata:
            known = dict(metadata.data)
            name = str(known.pop("name", "kernel"))
            known.pop("function", None)  # the driver's handle
            _tell(name, "runtime", start, known)
            return


def _stand_around(undo: list[Callable[[], None]]) -> None:
    """The interpreter runs a kernel on the host, program by program, within one call."""
    from triton.runtime import interpreter

    executor, builder = interpreter.GridExecutor, interpreter.interpreter_builder
    original = executor.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = time.monotonic_ns()
        try:
            return original(self, *args, **kwargs)
        finally:
            _interpreted(self, builder, start)

    executor.__call__ = call
    undo.append(functools.partial(setattr, executor, "__call__", original))


@guarded
def _interpreted(executor: Any, builder: Any, start: int) -> None:
    if _native.recorder_path():
        name = getattr(executor.fn, "__name__", "kernel")
        _tell(name, "op", start, {"grid": getattr(builder, "grid_dim", None), "interpreted": True})


def _tell(name: str, category: str, start: int, about: dict[str, Any]) -> None:
    args = json.dumps({"framework": "triton", **about}, default=str)
    _native.record_span(None, name, category, start, time.monotonic_ns(), args)


def _open() -> list[tuple[Any, int]]:
    found: list[tuple[Any, int]] = _local.__dict__.setdefault("open", [])
    return found
