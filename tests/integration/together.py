"""Threads that start together, and callbacks that have all been traced."""

from __future__ import annotations

import threading
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import eventide as et
from tests.helpers import Background, Gate

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 30.0  # seconds


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run the tasks on threads of their own, started together; their results."""
    start = threading.Barrier(len(tasks))

    def task(call: Callable[[], Any]) -> Any:
        start.wait(LIMIT)
        return call()

    backgrounds = [Background(partial(task, call)) for call in tasks]
    return [background.result() for background in backgrounds]


def flush_notifier() -> None:
    """Callbacks run one after the other on one thread: when this one is traced, all requested before it have been."""
    called, gate = threading.Event(), Gate()
    with closing(et.Stream("cpu")) as stream:
        gate.hold(stream).add_done_callback(lambda _: called.set())
        gate.open()
        assert called.wait(LIMIT)
