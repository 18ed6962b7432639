"""Rules about programs without devices."""

from __future__ import annotations

from eventide.trace import Trace
from tests.rule_cases.case import Case, busy, made
from tests.trace_builder import Builder
from tests.unit.test_analysis_samples import IMPORT, MAIN, MS, NUMPY, F, G, trace_of

TORCH = (
    "Devices: no device work is recorded. If the program used one, record it too: torch.profiler with its activity "
    "(ProfilerActivity.CUDA, XPU, ...)."
)


def host_only(source: str, self_time: int = 600) -> Trace:
    b = Builder()
    b.span(b.thread(), "aten::add", 0, self_time)
    b.span(b.thread(2), "aten::mul", 9990, 10_000)
    return b.trace(source=source)


def sampled(importing: int, waiting: int, running: int) -> Trace:
    """Ten samples of 100 ms each."""
    kinds = (
        [([NUMPY, IMPORT, MAIN], False)] * importing + [([G, MAIN], True)] * waiting + [([F, MAIN], False)] * running
    )
    rows = [(100 * (number + 1), 0, stack, waits) for number, (stack, waits) in enumerate(kinds)]
    run = {"began_ns": 0, "ended_ns": 1000 * MS, "sample_ns": 100 * MS}
    return trace_of(rows, ("MainThread",), run=run)


def trained(optimizer: int, *, with_parts: bool = True) -> Trace:
    """Four steps of 100: forward 40, the optimizer, and nothing recorded in the rest; imports before them."""
    b = Builder()
    for step in range(4):
        at = 1000 + 100 * step
        b.span(b.thread(), f"ProfilerStep#{step}", at, at + 100, "step")
        if with_parts:
            b.span(b.thread(2), "aten::mm", at, at + 40, "op")
            b.span(b.thread(2), "Optimizer.step#SGD.step", at + 40, at + 40 + optimizer, "annotation")
    return b.trace(source="eventide")


def ended(raised: dict[str, object] | None) -> Trace:
    """A run of one second without a sample."""
    run = {"began_ns": 0, "ended_ns": 1000 * MS, "sample_ns": 10 * MS}
    return trace_of([], ("MainThread",), run=run, ended={"name": "", "raised": raised})


RAISED = {"error": "ValueError", "function": "load", "file": "/p/a.py", "line": 7}

CASES = [
    Case(
        "program-raised", lambda: ended(RAISED), {"error": "ValueError", "function": "load", "place": "a.py:7"},
        lambda: ended(None), says="ValueError ended the program; load raised it (a.py:7).",
    ),
    Case(
        "not-sampled", lambda: ended(None), {"wall": 1000 * MS, "period": 10 * MS, "finer": 1},
        lambda: sampled(0, 1, 9),
        says="Where the 1.00 s went: Python stacks are sampled every 10.0 ms; `eventide run --sample 1`.",
    ),
    Case(
        "step-parts", lambda: trained(30),
        {"steps": 4, "median": 100, "parts": "40 % forward, 30 % optimizer, 30 % other"},
        lambda: trained(30, with_parts=False), says="Of 4 steps (median 100 ns): 40 % forward",
        remedy="See which operators took it: `eventide trace summary`.",
    ),
    Case(
        "no-device-work", lambda: host_only("kineto"), {}, lambda: host_only("eventide"), says=TORCH,
        confidence="unknown",
    ),
    Case(
        "host-code", lambda: host_only("eventide"), {"name": "aten::add", "time": 600, "wall": 10_000, "count": 1},
        lambda: host_only("eventide", 499), says="aten::add took 600 ns by itself (6.0 %), in 1 span.",
    ),
    Case(
        "python-function", lambda: sampled(1, 1, 8), {"function": "f", "time": 800 * MS, "wall": 1000 * MS},
        made(busy()), says="f (a.py:3) ran 800 ms by itself (80 % of 1.00 s).",
    ),
    Case(
        "main-thread-waited", lambda: sampled(0, 2, 8), {"time": 200 * MS, "function": "g"}, lambda: sampled(0, 1, 9),
        says="The main thread waited 200 ms (20 %), most in g (b.py:7).",
    ),
    Case(
        "imports", lambda: sampled(3, 1, 6), {"time": 300 * MS, "module": "numpy", "most": 300 * MS},
        lambda: sampled(0, 1, 9), says="Imports took 300 ms (30 % of 1.00 s), most in numpy (300 ms).",
    ),
]  # fmt: skip
