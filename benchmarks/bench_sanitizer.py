"""What does checking one work with two buffers cost, and how does that grow with streams and live allocations?

Against `EventHandler` of torch's CUDA sanitizer, driven directly with the same works: each reads one buffer and writes
another. Its stack is taken with `traceback`, as it does; for the row without stacks that is replaced by nothing. Ours
is called from Python for every work, so the call is part of the price; live, the hooks feed it natively.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._harness import Missing, Options, Round, Row, best, compare, pinned
from eventide import _native

BUFFERS = 64
FRAMES = 10


def deep(frames: int, call: Callable[[], float]) -> float:
    """Call it from so many frames down."""
    return call() if frames <= 1 else deep(frames - 1, call)


def ours(stack: bool, number: int) -> Round:
    engine = _native.Sanitizer()
    for n in range(BUFFERS):
        engine.allocate((n + 1) << 20, 4096)
    accesses = [[((n + 1) << 20, 4096)] for n in range(BUFFERS)]
    capture = _native.capture_stack if stack else None

    def burst(size: int) -> float:
        submit = engine.submit
        began = time.perf_counter()
        for n in range(size):
            reads, writes = accesses[n % BUFFERS], accesses[(n + 1) % BUFFERS]
            if capture is None:
                submit(1, reads, writes, name="gemm", work=n)
            else:
                submit(1, reads, writes, name="gemm", work=n, stack=capture())
        return time.perf_counter() - began

    return lambda: best(lambda size: deep(FRAMES - 2, lambda: burst(size)), number) * 1e9


@contextmanager
def without_stacks(wanted: bool) -> Iterator[None]:
    """Without the stack that torch's handler takes for each launch: an empty list replaces it."""
    import torch.cuda._sanitizer as csan

    kept = csan.traceback
    try:
        if wanted:
            csan.traceback = _NoTraceback  # type: ignore[attr-defined]
        yield
    finally:
        csan.traceback = kept  # type: ignore[attr-defined]


class _NoTraceback:
    class StackSummary:
        @staticmethod
        def extract(*_: Any, **__: Any) -> list[Any]:
            return []

    @staticmethod
    def walk_stack(_: Any) -> None:
        return None


def peer(stack: bool, number: int) -> Round:
    from torch.cuda._sanitizer import EventHandler

    handler: Any = EventHandler()
    handler._handle_stream_creation(1)  # noqa: SLF001  driven as its own dispatch mode drives it
    for n in range(BUFFERS):
        handler._handle_memory_allocation((n + 1) << 20)  # noqa: SLF001
    pointers = [{(n + 1) << 20} for n in range(BUFFERS)]
    aliases: dict[int, list[str]] = {(n + 1) << 20: [] for n in range(BUFFERS)}

    def burst(size: int) -> float:
        launch = handler._handle_kernel_launch  # noqa: SLF001
        began = time.perf_counter()
        for n in range(size):
            launch(1, pointers[n % BUFFERS], pointers[(n + 1) % BUFFERS], set(), "gemm", aliases)
        return time.perf_counter() - began

    def measure() -> float:
        with without_stacks(not stack):
            return best(lambda size: deep(FRAMES - 2, lambda: burst(size)), number) * 1e9

    return measure


def grown(streams: int, allocations: int, number: int) -> Round:
    """A ring of streams, each waiting for the one before it at every work, over so many live allocations."""
    engine = _native.Sanitizer()
    accesses = []
    for n in range(allocations):
        engine.allocate((n + 1) << 20, 4096)
        accesses.append([((n + 1) << 20, 4096)])
    state = {"n": 0}

    def burst(size: int) -> float:
        submit, record, wait, n = engine.submit, engine.record, engine.wait, state["n"]
        began = time.perf_counter()
        for _ in range(size):
            n += 1
            stream = n % streams + 1
            wait(n % streams + 1, stream)
            submit(stream, accesses[n % allocations], accesses[n * 7919 % allocations], name="gemm", work=n)
            record((n + 1) % streams + 1, stream)
        state["n"] = n
        return time.perf_counter() - began

    engine.record(2, 1)
    burst(4 * streams + allocations)
    return lambda: best(burst, number) * 1e9


def pending(waits: int, number: int) -> Round:
    """A stream waits so many times before its next work; nanoseconds for each wait, with its work and record."""

    def burst(size: int) -> float:
        began = time.perf_counter()
        for _ in range(size):
            engine = _native.Sanitizer()
            submit, record, wait = engine.submit, engine.record, engine.wait
            for n in range(waits):
                submit(1, [], [], work=n)
                record(1, 1)
                wait(1, 2)
            submit(2, [], [], work=waits)
        return time.perf_counter() - began

    return lambda: best(burst, number // waits) / waits * 1e9


def rows(options: Options) -> Iterator[Row]:
    number = options.number(100_000)
    try:
        import torch

        against: str | None = f"torch {torch.__version__} EventHandler"
        theirs: Any = lambda stack: peer(stack, options.number(20_000))  # noqa: E731
    except Exception as error:  # noqa: BLE001  a half-installed torch fails in many ways
        reason = f"torch cannot be imported ({error})"
        against, theirs = "torch EventHandler", lambda _: Missing(reason)
    assert against is not None
    with pinned():
        yield compare(
            "sanitizer per work, two buffers", against, ours(False, number), theirs(False), options, bar=1 / 10
        )
        yield compare(
            f"the same with a stack of {FRAMES} frames", against, ours(True, number), theirs(True), options, bar=1 / 30
        )
        # Flat or logarithmic: less than the number has more digits (2, 16 and 128 streams are 1, 4 and 7 binary ones;
        # 10, 10^3 and 10^5 allocations 1, 3 and 5 decimal ones, and leave the caches on the way).
        few = grown(2, 1000, number)
        for streams, bar in ((16, 2.0), (128, 3.0)):
            what = f"work, wait and record on {streams} streams"
            yield compare(what, "the same on 2", grown(streams, 1000, number), few, options, bar=bar)
        few = grown(4, 10, number)
        for allocations, bar in ((10**3, 2.0), (10**5, 5.0)):  # 5: as the logarithm grows from 10 to 10^5
            what = f"the same over {allocations:,} allocations"
            yield compare(what, "the same over 10", grown(4, allocations, number), few, options, bar=bar)
        # n log n: 4,000 has 12 binary digits and 250 has 8.
        yield compare(
            "work, record and wait, 4,000 waits pending",
            "the same with 250",
            pending(4000, options.number(100_000)),
            pending(250, options.number(100_000)),
            options,
            bar=1.5,
        )
