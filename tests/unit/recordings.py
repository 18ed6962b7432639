"""Shared by the tests of the recorder: leftover buffers, marks, spans and arguments of a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventide as et


def leftovers() -> list[str]:
    """Buffers of this process in shared memory."""
    return [path.name for path in Path("/dev/shm").glob(f"eventide-{os.getpid()}-*")]


def marks(trace: et.Trace) -> list[int]:
    """The numbers that instants were named after, in order."""
    return [int(name) for name in trace.instants.column("name").to_pylist()]


def recorded(run: Callable[[], object], **options: Any) -> et.Trace:
    """The trace of a call."""
    with et.Recorder(**options) as recorder:
        run()
    recorder.trace.check()
    return recorder.trace


def args(trace: et.Trace, row: int = 0) -> Any:
    """The arguments of one span."""
    return json.loads(trace.spans.column("args")[row].as_py())


def spans(trace: et.Trace) -> list[tuple[str, int]]:
    """Name and depth of each span in the order of their starts; all have ended."""
    rows = sorted(trace.spans.to_pylist(), key=lambda row: row["start"])
    out: list[tuple[str, int]] = []
    ends: list[int] = []
    for row in rows:
        ends = [end for end in ends if end > row["start"]]
        out.append((row["name"], len(ends)))
        ends.append(row["start"] + row["duration"])
    return out
