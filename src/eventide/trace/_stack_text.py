"""Stacks as text for people: a line for each frame, innermost first."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def stack_texts(stacks: pa.Table) -> list[str]:
    """One text for each stack."""
    return ["\n".join(frame_text(frame) for frame in frames or ()) for frames in stacks.column("frames").to_pylist()]


def frame_text(frame: dict[str, Any] | None) -> str:
    """`train.py:7 main`, with what is unknown left out."""
    if frame is None:
        return "?"
    line = "" if frame["line"] is None else f":{frame['line']}"
    return f"{frame['file'] or '?'}{line} {frame['function'] or ''}".rstrip()
