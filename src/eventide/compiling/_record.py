"""A compile as data: its trigger, the arguments of callbacks, its record, and its span in the trace."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eventide import _native

_SHOWN = ("id", "depth", "error", "recompile", "reason", "cache_hit", "graph_breaks")


class CallbackTrigger(enum.Enum):
    """Which compiler ran. The first four have the names and numbers of ``torch._dynamo.callback``."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4
    JAX = 5
    NUMBA = 6
    TRITON = 7
    OPENCL = 8
    OTHER = 9


@dataclass(frozen=True)
class CallbackArgs:
    """One compile: what triggered it, its id, and the name of what is compiled, if available."""

    callback_trigger: CallbackTrigger
    compile_id: str
    name: str | None = None


@dataclass(frozen=True)
class CompileRecord:
    """One compile, nested ones too. None means that the compiler did not report it; no value is guessed."""

    trigger: CallbackTrigger
    id: str
    name: str | None
    thread: int
    """The system's id of the thread that compiled."""
    depth: int
    """0 for the outermost compile of its thread."""
    start_ns: int
    """On CLOCK_MONOTONIC, the clock of the trace."""
    duration_ns: int
    ok: bool | None = True
    error: str | None = None
    """Type and message of the error that ended the compile."""
    recompile: bool | None = None
    """True: the same code was compiled before. False: this is the first time."""
    reason: str | None = None
    """The reason of a recompile."""
    cache_hit: bool | None = None
    stages_ns: tuple[tuple[str, int], ...] | None = None
    """Parts of the compile, by name, and the duration of each."""
    graph_breaks: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """Other values that the compiler reported."""

    @property
    def end_ns(self) -> int:
        """When it ended, on CLOCK_MONOTONIC."""
        return self.start_ns + self.duration_ns


def record_in_trace(record: CompileRecord) -> None:
    """Record a span of this thread, which compiled, if anything is recording."""
    if not _native.recorder_path():
        return
    args: dict[str, Any] = {"trigger": record.trigger.name}
    args |= {name: getattr(record, name) for name in _SHOWN if getattr(record, name) is not None}
    if record.stages_ns is not None:
        args["stages_ns"] = dict(record.stages_ns)
    if record.details:
        args["details"] = dict(record.details)
    name = record.name or f"{record.trigger.name} {record.id}"
    outcome = None if record.ok is None else "ok" if record.ok else "failed"
    text = json.dumps(args, default=str)
    _native.record_span(None, name, "compile", record.start_ns, record.end_ns, text, outcome=outcome)
