"""Stacks as the program knows them: without the frames that are there only because it was watched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from eventide.trace import Trace

_PACKAGE = Path(__file__).parents[1]
_OURS = (
    str(_PACKAGE / "profiler") + os.sep,
    str(_PACKAGE / "integrations" / "torch") + os.sep,
    str(_PACKAGE / "recording" / "_record_span.py"),
)
# Between our dispatch mode and the operator that called it.
_BETWEEN = ("torch/_compile.py", "torch/_dynamo/eval_frame.py", "torch/utils/_python_dispatch.py")


def without_our_frames(trace: Trace) -> Trace:
    """The innermost frames of the profiler itself, and what torch puts between it and the program, are left out."""
    stacks = trace.stacks["frames"].to_pylist()
    if not any(frames and _ours(frames[0]) for frames in stacks):
        return trace
    cleaned = [_clean(frames) for frames in stacks]
    return trace.replace(stacks={"frames": pa.array(cleaned, trace.stacks.schema.field("frames").type)})


def _clean(frames: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    if not frames or not _ours(frames[0]):
        return frames
    first = next((number for number, frame in enumerate(frames) if not _ours(frame)), len(frames))
    while first < len(frames) and frames[first]["file"].endswith(_BETWEEN):
        first += 1
    return frames[first:]


def _ours(frame: dict[str, Any]) -> bool:
    return bool(frame["file"].startswith(_OURS))
