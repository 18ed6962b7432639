"""What does a span cost, against an empty `with` in C, and against the annotations of other tools?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import eventide as et
from benchmarks import _floor
from benchmarks._harness import Missing, Options, Round, Row, compare, pinned, statement


def rows(options: Options) -> Iterator[Row]:
    n = options.number(400_000)
    floor = _floor.load().Floor
    kept = {"s": floor()}, {"s": et.span("x")}
    empty_kept = statement("with s: pass", kept[0], n)
    empty = statement("with F(): pass", {"F": floor}, n)
    names = {"span": et.span}
    with pinned():
        for state in ("off", "on"):
            with ExitStack() as stack:
                if state == "on":
                    # The drainer has a core of its own, and a ring never runs full.
                    stack.enter_context(et.Recorder(ring=True, buffer=8 << 20))
                ours = statement("with s: pass", kept[1], n)
                bar = 1.4 if state == "on" else 1.2
                what = f"with s:, a kept span, recording {state}"
                yield compare(what, "empty with, in C", ours, empty_kept, options, bar=bar)
                ours = statement('with span("x"): pass', names, n)
                bar = 2.0 if state == "on" else 1.5
                yield compare(f'with span("x"):, recording {state}', "empty with, in C", ours, empty, options, bar=bar)
                if state == "on":
                    ours = statement('with span("x", step=3): pass', names, n)
                    yield compare("the same with one argument, on", "empty with, in C", ours, empty, options, bar=3.0)
        with et.Recorder(ring=True, buffer=8 << 20):
            ours = statement('with span("x"): pass', names, n)
            for against, bar, peer in peers(options):
                yield compare('with span("x"):, recording on', against, ours, peer, options, bar=bar)


def peers(options: Options) -> Iterator[tuple[str, float, Round | Missing]]:
    n = options.number(20_000)
    yield "torch record_function", 1 / 30, attempt(lambda: torch_round(n))
    yield "nvtx.annotate", 1 / 3, attempt(lambda: nvtx_round(n))
    yield "VizTracer log_event", 1 / 15, attempt(lambda: viztracer_round(n))


def attempt(make: Callable[[], Round]) -> Round | Missing:
    try:
        return make()
    except ImportError as error:
        return Missing(str(error))


def torch_round(n: int) -> Round:
    import torch

    profiled = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    inner = statement('with f("x"): pass', {"f": torch.profiler.record_function}, n)

    def measure() -> float:
        with profiled:
            return inner()

    return measure


def nvtx_round(n: int) -> Round:
    import nvtx

    return statement('with f("x"): pass', {"f": nvtx.annotate}, n)


def viztracer_round(n: int) -> Round:
    from viztracer import VizTracer

    tracer: Any = VizTracer(verbose=0, tracer_entries=n * 50)
    inner = statement('with f("x"): pass', {"f": tracer.log_event}, n)

    def measure() -> float:
        tracer.start()
        try:
            return inner()
        finally:
            tracer.stop()
            tracer.clear()
            sys.setprofile(None)

    return measure
