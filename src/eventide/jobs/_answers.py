"""Every answer about a job, and what it does not contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eventide._util import format as f
from eventide.errors import UsageValueError
from eventide.jobs._bandwidth import BandwidthRow, bandwidth
from eventide.jobs._clocks import Clocks, align
from eventide.jobs._imbalance import Imbalance, imbalance
from eventide.jobs._job import Job
from eventide.jobs._match import match
from eventide.jobs._path import JobPath, job_path
from eventide.jobs._stragglers import Stragglers, stragglers
from eventide.jobs._waiting import Waiting, waiting

STEPS = ("reading", "aligning clocks", "waiting", "replaying", "imbalance", "critical path")


@dataclass(frozen=True)
class JobReport:
    """What `eventide job report` shows; times are nanoseconds."""

    path: str
    ranks: int
    world_size: int | None
    clocks: Clocks
    waiting: Waiting
    stragglers: Stragglers
    imbalance: Imbalance
    bandwidth: tuple[BandwidthRow, ...]
    critical_path: JobPath
    hidden: tuple[str, ...]  # what is missing, and what that means for the answers


def align_job(job: Job) -> Clocks:
    """Match the collectives and bound the clocks; UsageValueError with a pair of ranks if they contradict."""
    return align(job, match(job))


def answer(job: Job, step: Callable[[str], None] = lambda _: None) -> JobReport:
    """Every answer; `step` is called before each of STEPS."""
    step("reading")
    found = match(job)
    step("aligning clocks")
    clocks = align(job, found)
    step("waiting")
    waits = waiting(clocks)
    if not waits.rows:
        raise UsageValueError(f"{str(job.path)!r}: nothing can be said about waiting across ranks. {_why(job, clocks)}")
    step("replaying")
    slow = stragglers(job, waits)
    step("imbalance")
    uneven = imbalance(job)
    step("critical path")
    path = job_path(slow.operations, waits)
    return JobReport(
        str(job.path),
        len(job.ranks),
        job.world_size,
        clocks,
        waits,
        slow,
        uneven,
        bandwidth(job, waits),
        path,
        hidden(job, clocks, waits),
    )


def _why(job: Job, clocks: Clocks) -> str:
    if len(job.ranks) < 2:
        return "The job has one rank; import the others as well"
    if job.collectives.num_rows == 0:
        return "The traces have no collectives; record them with torch.profiler, or with eventide run"
    if matching := len(clocks.matched.keys):
        return (
            f"{f.count(matching, 'collective')} of several ranks match, but none of them ties the clocks of its ranks "
            "from both sides: a broadcast, a send and what names no root do not. `eventide job imbalance` needs no "
            "clocks"
        )
    return (
        "No collective of two ranks or more matches: the traces are of different runs or of different steps; record "
        "the same steps on every rank"
    )


def hidden(job: Job, clocks: Clocks, waits: Waiting) -> tuple[str, ...]:
    """Sentences about what is missing, each with its meaning for the answers."""
    found = []
    if job.missing:
        found.append(
            f"{f.count(len(job.missing), 'rank')} of {job.world_size} not imported ({numbers(job.missing)}): if one "
            "of them is the slowest, its delays are counted as transfer of the others"
        )
    if job.foreign:
        found.append(
            f"The trace of {numbers(job.foreign)} is not of this job of {job.world_size} ranks: its number, or its own "
            "number of ranks, does not fit; import the job again without it"
        )
    found += [f"{file} was left out: {why}" for file, why in job.left_out[:5]]
    if len(job.left_out) > 5:
        found.append(f"{f.count(len(job.left_out) - 5, 'more file')} left out")
    if clocks.unaligned:
        found.append(
            f"No collective bounds the clock of {numbers(clocks.unaligned)}: waiting, stragglers and the critical path "
            "leave these ranks out"
        )
    cut = [each for each in job.ranks if each.cut]
    if cut:
        found.append(f"The recording of {numbers([each.rank for each in cut])} is cut ({cut[0].cut}): times end there")
    if waits.left_out:
        found.append(
            f"{f.count(waits.left_out, 'collective')} say nothing about waiting: they do not synchronize all of their "
            "ranks, or a rank without a known clock takes part"
        )
    if clocks.matched.alone:
        found.append(f"{f.count(clocks.matched.alone, 'collective')} were recorded by one rank only")
    if clocks.matched.by_order:
        found.append(
            f"{f.count(clocks.matched.by_order, 'collective')} matched by their order in a step, which the clocks do "
            "not contradict"
        )
    unresolved = sum(row.resolved == "no" for row in waits.rows)
    if unresolved:
        found.append(
            f"In {unresolved} of {f.count(len(waits.rows), 'collective')} the two last ranks are closer than the "
            "error of the clocks: who was last is not resolved there"
        )
    return tuple(found)


def numbers(ranks: list[int]) -> str:
    """For messages: rank 3; ranks 0 to 2, 7."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    shown = ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {shown}"
