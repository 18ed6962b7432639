"""How far is a prediction of `what_if` from the edited program, really run; and what does a replay cost?

Twelve pairs of a program and an edit run on `cpu`, before and after, five times each. A row is |predicted - real| over
the real time, as the median of the five, and whether the interval holds the median of the real times. The speed rows
are the CPU time of a replay (one thread: the order of the edges and the pass over them) for graphs of 1e5 and 1e7
nodes, and of the ten best edits of a trace.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import eventide as et
from benchmarks._harness import Options, Row
from eventide import analysis
from eventide.analysis import View
from eventide.analysis.schedule._replay import finish_of, model_of
from eventide.analysis.schedule._schedule import plan_of, schedule

TRACE = Path(__file__).resolve().parents[2] / "shared" / "traces" / "nvidia_compare_before.json.gz"
REPEATS = 5
WORST, MEDIAN, HALF_WIDTH, HELD = 0.03, 0.01, 0.03, 11


@dataclass(frozen=True)
class Program:
    """Steps that load on one stream and compute on another; times in ms."""

    steps: int = 10
    load: float = 8
    gemm: float = 12
    parts: int = 1  # works that gemm is split into
    host: float = 4
    wait: bool = True
    sync: bool = True
    own_stream: bool = True  # whether loads have a stream of their own
    with_load: bool = True


def load(seconds: float) -> None:
    time.sleep(seconds)


def gemm(seconds: float) -> None:
    time.sleep(seconds)


def run(program: Program) -> et.Trace:
    with et.Recorder() as recorder:
        main = et.Stream("cpu", name="main")
        loads = et.Stream("cpu", name="loads") if program.own_stream else main
        for step in range(program.steps):
            with et.span("prepare", number=step):
                time.sleep(program.host / 1e3)
            if program.with_load:
                loads.submit(load, program.load / 1e3)
                if program.wait and program.own_stream:
                    main.wait_event(loads.record_event())
            for _ in range(program.parts):
                main.submit(gemm, program.gemm / program.parts / 1e3)
            if program.sync:
                main.synchronize()
        main.synchronize()
        loads.synchronize()
    return recorder.trace


BASE = Program()
PAIRS: list[tuple[str, Program, analysis.Edit, Program]] = [
    ("compute halved", BASE, analysis.scale("gemm", 0.5), replace(BASE, gemm=6)),
    ("compute doubled", BASE, analysis.scale("gemm", 2), replace(BASE, gemm=24)),
    ("loads tripled", BASE, analysis.scale("load", 3), replace(BASE, load=24)),
    ("host halved", BASE, analysis.scale("prepare", 0.5), replace(BASE, host=2)),
    ("host removed", BASE, analysis.remove("prepare"), replace(BASE, host=0)),
    ("loads removed", BASE, analysis.remove("load"), replace(BASE, with_load=False)),
    ("waits dropped", BASE, analysis.drop_wait("gemm"), replace(BASE, wait=False)),
    ("synchronizations dropped", BASE, analysis.drop_sync(), replace(BASE, sync=False)),
    (
        "loads on the stream of compute",
        replace(BASE, wait=False),
        analysis.move("load", "main"),
        replace(BASE, own_stream=False),
    ),
    ("loads on a new stream", replace(BASE, own_stream=False), analysis.move("load", "new"), replace(BASE, wait=False)),
    ("six works fused", replace(BASE, parts=6), analysis.fuse("gemm"), BASE),
    (
        "compute halved, nothing waits",
        replace(BASE, sync=False),
        analysis.scale("gemm", 0.5),
        replace(BASE, sync=False, gemm=6),
    ),
]


def wall(trace: et.Trace) -> int:
    view = View(trace)
    network = model_of(view).network
    return finish_of(network, network.until) - view.window[0]


@dataclass(frozen=True)
class Answer:
    """One pair, before and after."""

    what: str
    error: float  # of the median prediction, against the median run
    half_width: float
    holds: bool
    spread: float  # of the runs before the edit: largest less smallest, of their median


def answer(what: str, before: Program, edit: analysis.Edit, after: Program, repeats: int) -> Answer:
    first = [run(before) for _ in range(repeats)]
    truth = statistics.median(wall(run(after)) for _ in range(repeats))
    found = [analysis.what_if(trace, edit) for trace in first]
    middle = sorted(found, key=lambda each: each.predicted)[repeats // 2]
    lengths = [each.wall for each in found]
    half = (middle.high - middle.low) / 2 / middle.predicted
    spread = (max(lengths) - min(lengths)) / statistics.median(lengths)
    return Answer(what, (middle.predicted - truth) / truth, half, middle.low <= truth <= middle.high, spread)


def rows(options: Options) -> Iterator[Row]:
    repeats = 1 if options.quick else REPEATS
    answers = [answer(*pair, repeats) for pair in PAIRS]
    errors = [abs(each.error) for each in answers]
    held = sum(each.holds for each in answers)
    evidence = tuple(
        f"{each.what}: {100 * each.error:+.2f} %, half-width {100 * each.half_width:.2f} %, "
        f"{'holds' if each.holds else 'does not hold'}; runs spread {100 * each.spread:.2f} %"
        for each in answers
    )
    limit = f"median {100 * MEDIAN:g} %, worst {100 * WORST:g} %"
    good = statistics.median(errors) <= MEDIAN and max(errors) <= WORST
    off = tuple(100 * error for error in errors)
    what = "what_if on cpu: error of twelve edits"
    yield Row(what, "run", off, unit="%", bar=limit, verdict=good, evidence=evidence)
    widths = [100 * each.half_width for each in answers]
    enough = held >= HELD and max(widths) <= 100 * HALF_WIDTH
    what = f"what_if on cpu: half-width of the interval, which holds {held} of {len(answers)}"
    yield Row(what, "run", tuple(widths), unit="%", bar=f"holds {HELD}, at most {100 * HALF_WIDTH:g} %", verdict=enough)
    yield from speed(options)


def speed(options: Options) -> Iterator[Row]:
    small = replay_time(100_000, options.number(20))
    yield Row("replay of 1e5 nodes", "10 ms", small, (10.0,) * len(small), "ms", 1.0)
    if not options.quick:
        large = replay_time(10_000_000, 1)
        yield Row("replay of 1e7 nodes, sorting included", "3 s", large, (3_000.0,) * len(large), "ms", 1.0)
        ratio = (large[0] / 1e7) / (statistics.median(small) / 1e5)
        yield Row("replay: a node of 1e7 against one of 1e5", "1e5", (ratio,), (1.0,), "", 4.0, note="growth")
    if TRACE.exists():
        begin = time.process_time()
        analysis.best_edits(et.open_trace(TRACE))
        spent = time.process_time() - begin
        what = "ten best edits of nvidia_compare_before"
        yield Row(what, "2 s of CPU", (spent,), (2.0,), "s", 1.0, note="reading included")


def replay_time(nodes: int, times: int) -> tuple[float, ...]:
    """Ms of CPU for the order of the edges and one pass; each node follows the one before it, half of them one more."""
    rng = np.random.default_rng(1)
    target = np.arange(1, nodes)
    more = np.arange(100, nodes, 2)
    source = np.concatenate((target - 1, more - rng.integers(1, 100, len(more))))
    target = np.concatenate((target, more))
    lag, duration = rng.integers(0, 100, len(source)), rng.integers(0, 1_000, nodes)

    def once() -> float:
        begin = time.process_time()
        schedule(plan_of(source, target, nodes), lag, duration, 0)
        return (time.process_time() - begin) * 1e3

    measure: Callable[[], float] = once
    return tuple(measure() for _ in range(times))
