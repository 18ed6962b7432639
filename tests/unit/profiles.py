"""Shared by the tests of the profiler: span names, a call on another thread, the profiler's clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import eventide as et
from tests.helpers import TIMEOUT


def names(result: Any, category: str | None = None) -> list[str]:
    """Names of the spans in order of their start."""
    spans = result.trace.spans.sort_by("start").to_pylist()
    return [span["name"] for span in spans if category in (None, span["category"])]


def in_thread(act: Callable[[], object]) -> None:
    """Call `act` on another thread and wait until it has returned."""
    thread = threading.Thread(target=act)
    thread.start()
    thread.join(TIMEOUT)
    assert not thread.is_alive(), "the thread never returned"


def now_us() -> int:
    """The time of Eventide's clock in microseconds."""
    return et._native.now_ns() // 1000
