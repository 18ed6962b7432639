"""`eventide demo`: the same training one after the other, with events, and with one wait deleted, over many seeds."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eventide.cli._output import Step
from eventide.cli.demo._calibrate import ENOUGH_CORES, Setup, calibrate, slow_loader, why_no_gain
from eventide.cli.demo._check import Verdict, judge_variants
from eventide.cli.demo._check import steps as sanitizer_steps
from eventide.cli.demo._program import DELETED, Program, Run, Shard, load_program
from eventide.cli.demo._record import Recorded, record
from eventide.cli.demo._timeline import Span, trace


@dataclass(frozen=True)
class Outcome:
    """All runs of one variant, compared with the serial run of the same seed."""

    variant: str
    milliseconds: float  # median
    speedup: float  # over the serial variant, of the medians
    cores: float  # median of CPU time over wall time
    runs: int
    identical: int  # runs whose final weights are the serial run's, bit for bit
    loss_off: tuple[float, ...]  # of the other runs: relative difference of the loss, ascending


@dataclass(frozen=True)
class DemoResult:
    """The result of `eventide demo` on this machine."""

    seeds: tuple[int, ...]
    loader: str  # "zlib" or "link"
    notes: tuple[str, ...]  # what limits the figures
    width: int  # of the hidden layer
    train_to_load: float
    shards: int
    outcomes: tuple[Outcome, Outcome, Outcome]  # serial, with events, with one wait deleted
    deleted: str  # the line that is missing in the third
    deleted_line: int
    program: str  # the path of the program
    callbacks: dict[str, int]  # per hook, over one traced run with events
    timeline: tuple[Span, ...]  # of that run
    recorded: Recorded  # of the same run
    sanitizer: Verdict  # on the third
    seconds: float  # for everything

    @property
    def findings(self) -> int:
        """Runs that had every wait and still ended wrong."""
        return self.outcomes[1].runs - self.outcomes[1].identical

    @property
    def fix_costs(self) -> float:
        """Milliseconds that the wait adds to a run, of the medians; noise can make it negative."""
        return self.outcomes[1].milliseconds - self.outcomes[2].milliseconds


def steps(runs: int) -> int:
    """How often `demo` calls `step`."""
    return 3 + 3 * runs + sanitizer_steps(runs)


def demo(runs: int, seed: int, folder: Path, step: Step) -> DemoResult:
    """Measure everything; the recording is written to the folder; `step` is called with each next step."""
    began = time.perf_counter()
    step("making shards")
    program = load_program()
    shards = program.module.make_shards()
    step("calibrating")
    setup = calibrate(program, shards)
    seeds = tuple(range(seed, seed + runs))
    results = _measure(program, setup, seeds, step)
    step("tracing one run")
    order = _order(program, len(shards), seeds[0])
    (callbacks, timeline), recorded = record(
        lambda: trace(lambda: _train(program, setup, program.variants[1], order), order), folder
    )
    orders = [_order(program, len(shards), one) for one in seeds]
    truth = results[program.variants[0]]
    verdict = judge_variants(
        program,
        lambda variant, i: _train(program, setup, variant, orders[i]),
        lambda variant, i: _train_late(program, setup, variant, [shards[j] for j in orders[i]]),
        truth,
        step,
    )
    outcomes = [_outcome(variant, results[variant], results[program.variants[0]]) for variant in program.variants]
    serial, events, broken = outcomes
    return DemoResult(
        seeds=seeds,
        loader=setup.loader,
        notes=_notes(program, setup, events),
        width=setup.width,
        train_to_load=setup.ratio,
        shards=len(shards),
        outcomes=(serial, events, broken),
        deleted=DELETED,
        deleted_line=program.deleted_line,
        program=str(program.path),
        callbacks=callbacks,
        timeline=timeline,
        recorded=recorded,
        sanitizer=verdict,
        seconds=time.perf_counter() - began,
    )


def _measure(program: Program, setup: Setup, seeds: Sequence[int], step: Step) -> dict[str, list[Run]]:
    """Run the variants in turn, seed by seed, so that a busy moment hits all of them."""
    results: dict[str, list[Run]] = {variant: [] for variant in program.variants}
    for seed in seeds:
        order = _order(program, len(setup.shards), seed)
        for variant in program.variants:
            step(f"seed {seed}: {variant}")
            results[variant].append(_train(program, setup, variant, order))
    return results


def _train(program: Program, setup: Setup, variant: str, order: Sequence[int]) -> Run:
    return program.run(variant, [setup.shards[i] for i in order], **setup.options)


def _train_late(program: Program, setup: Setup, variant: str, shards: Sequence[Shard]) -> Run:
    raw, fill = slow_loader(program, shards)
    return program.run(variant, raw, width=setup.width, fill=fill)


def _order(program: Program, shards: int, seed: int) -> list[int]:
    return [int(i) for i in program.module.np.random.default_rng(seed).permutation(shards)]


def _outcome(variant: str, runs: Sequence[Run], truth: Sequence[Run]) -> Outcome:
    median = statistics.median(run.seconds for run in runs)
    pairs = list(zip(runs, truth, strict=True))
    return Outcome(
        variant=variant,
        milliseconds=1e3 * median,
        speedup=statistics.median(run.seconds for run in truth) / median,
        cores=statistics.median(run.cores for run in runs),
        runs=len(runs),
        identical=sum(run.digest == right.digest for run, right in pairs),
        loss_off=tuple(sorted(run.loss / right.loss - 1 for run, right in pairs if run.digest != right.digest)),
    )


def _notes(program: Program, setup: Setup, events: Outcome) -> tuple[str, ...]:
    notes = []
    if not program.one_blas_thread:
        notes.append(
            "numpy was imported before the demo: set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 and run again"
        )
    if setup.why:
        notes.append(setup.why)
    elif events.cores < ENOUGH_CORES:
        notes.append(why_no_gain(events.cores))
    return tuple(notes)
