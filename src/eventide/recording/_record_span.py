"""Spans that are over, with arguments, for the recording that runs."""

from __future__ import annotations

import json
from typing import Any

from eventide import _native


def record_span(
    name: str,
    category: str,
    start: int,
    end: int,
    about: dict[str, Any] | None = None,
    *,
    stack: bool = False,
    work: int = 0,
) -> None:
    """A span of this thread; times in nanoseconds of CLOCK_MONOTONIC. Nothing happens when nothing is recorded."""
    args = json.dumps(about, default=str) if about else None
    _native.record_span(None, name, category, start, end, args, _native.capture_stack() if stack else 0, 0, 0, work)
