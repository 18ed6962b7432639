"""Compiles become spans of the trace when something is being recorded."""

from __future__ import annotations

import json
from typing import Any

from eventide import _native
from eventide.compiling._record import CompileRecord

_TOLD = ("id", "depth", "error", "recompile", "reason", "cache_hit", "graph_breaks")


def record_in_trace(record: CompileRecord) -> None:
    """A span of the thread that compiled, which is this one. Nothing happens when nothing is being recorded."""
    if not _native.recorder_path():
        return
    args: dict[str, Any] = {"trigger": record.trigger.name}
    args |= {name: getattr(record, name) for name in _TOLD if getattr(record, name) is not None}
    if record.stages is not None:
        args["stages_ns"] = dict(record.stages)
    if record.details:
        args["details"] = dict(record.details)
    name = record.name or f"{record.trigger.name} {record.id}"
    outcome = None if record.ok is None else "ok" if record.ok else "failed"
    text = json.dumps(args, default=str)
    _native.record_span(None, name, "compile", record.start, record.end, text, outcome=outcome)
