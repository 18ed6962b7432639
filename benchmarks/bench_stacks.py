"""What does capturing and interning a Python stack of ten frames cost, against traceback.StackSummary?"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import TypeVar

from benchmarks._harness import Options, Row, compare, pinned, statement
from eventide import _native

T = TypeVar("T")


def at_depth(frames: int, call: Callable[[], T]) -> T:
    """Call with that many frames above this thread's first."""
    depth = len(inspect.stack(context=0))

    def down(n: int) -> T:
        return call() if n <= 0 else down(n - 1)

    return down(frames - depth)


def in_thread(call: Callable[[], T]) -> T:
    """On a thread of its own, whose stack is short."""
    import _thread

    done: list[T] = []
    gate = _thread.allocate_lock()
    gate.acquire()

    def run() -> None:
        try:
            done.append(call())
        finally:
            gate.release()

    _thread.start_new_thread(run, ())
    gate.acquire()
    return done[0]


def rows(options: Options) -> Iterator[Row]:
    ours = statement("capture()", {"capture": _native.capture_stack}, options.number(200_000))
    summary = traceback.StackSummary
    names = {"extract": summary.extract, "walk": traceback.walk_stack}
    peer = statement("extract(walk(None), lookup_lines=False)", names, options.number(2_000))

    def measure() -> Row:
        # The timer adds frames of its own: statement, best, timeit.
        return at_depth(
            6,
            lambda: compare("capture a stack of 10 frames", "traceback.StackSummary", ours, peer, options, bar=1 / 100),
        )

    with pinned():
        yield in_thread(measure)
