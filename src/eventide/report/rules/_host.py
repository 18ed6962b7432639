"""Rules about what the host did: calls that block, compiles, steps, and work of CPU devices without a core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from eventide._util import format as f
from eventide.analysis import PHASES
from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch, launch_ahead, mostly_copies, mostly_launches
from eventide.report.rules._rule import INFERRED, Match, rule

_MOST_OF_STEPS = 0.6  # the least weight of compiling that is most of the steps: above that of their other parts
_BLOCKED = (
    "The host blocked {times} for {total:time}, {most}in {name:name}[ in {inside:name}][: {calls}]"
    "[; {device} worked for {worked:of blocked} of it]."
)


def _blocked(report: Report) -> Iterator[Match]:
    syncs = report.syncs
    if syncs.total == 0 or syncs.total * 50 < syncs.wall:
        return
    first = syncs.table[0]
    every = first.count == syncs.count
    longest = max(syncs.each, key=lambda sync: sync.duration)
    values: dict[str, Any] = {
        "times": "once" if syncs.count == 1 else f"{syncs.count:,} times",
        "total": syncs.total,
        "count": syncs.count,
        "most": "" if every else "most ",
        "name": first.name,
        "inside": first.inside,
        "most_count": first.count,
        "most_total": first.total,
        "calls": None if every else _calls(first.count, first.total),
        "how": "pin_memory=True, non_blocking=True" if is_torch(report.metadata) else None,
    }
    values |= _beside(report)
    share = syncs.total / syncs.wall
    place = (longest.start, longest.start + longest.duration)
    behind_work = values["idle"] is not None and not mostly_copies(syncs)
    yield Match(share, values, 0.5 * (values["idle"] / syncs.wall if behind_work else min(share, 1)), place)


def _beside(report: Report) -> dict[str, Any]:
    """The time in calls that blocked on any thread, and how much of it the busiest device worked."""
    lane = min(report.idle.lanes, key=lambda lane: lane.idle, default=None)
    if lane is None:
        return {"device": None, "worked": None, "blocked": None, "idle": None}
    blocked, until = 0, 0
    for sync in report.syncs.each:
        blocked += max(sync.start + sync.duration - max(sync.start, until), 0)
        until = max(until, sync.start + sync.duration)
    return {"device": lane.device, "worked": blocked - lane.blocked, "blocked": blocked, "idle": lane.blocked}


def _calls(count: int, total: int) -> str:
    return f"{f.count(count, 'call')}, {f.time(total)}"


@rule(
    "host-blocked",
    condition=(
        "Calls that blocked the host took 2 % of the time or more, most of it neither in copies to the device nor in "
        "calls that launch work."
    ),
    says=_BLOCKED,
    remedy="See which with `eventide trace syncs`.",
)
def host_blocked(report: Report) -> Iterator[Match]:
    """Over all threads. Behind a busy device it costs nothing, so that the time counts in which that was idle."""
    other = mostly_copies(report.syncs) or mostly_launches(report.syncs)
    return _blocked(report) if not other else iter(())


@rule(
    "host-blocked-by-launches",
    condition=(
        "Calls that blocked the host took 2 % of the time or more, most of it in calls that launch work and return "
        "when it ends: nine of ten calls of a name do, of those whose work takes 50 us or more."
    ),
    says=_BLOCKED,
    remedy="Let the host launch ahead of the device[: {ahead}]; see `eventide trace syncs`.",
    confidence=INFERRED,
)
def host_blocked_by_launches(report: Report) -> Iterator[Match]:
    """Such as with CUDA_LAUNCH_BLOCKING=1, which is for finding errors."""
    if mostly_launches(report.syncs):
        for match in _blocked(report):
            yield replace(match, values={**match.values, "ahead": launch_ahead(report)})


@rule(
    "host-blocked-by-copies",
    condition="Calls that blocked the host took 2 % of the time or more, most of it in copies to the device.",
    says=_BLOCKED,
    remedy=(
        "Pin the host memory of copies, so that the host need not wait for them[ ({how})]; see `eventide trace syncs`."
    ),
)
def host_blocked_by_copies(report: Report) -> Iterator[Match]:
    """A copy of pageable memory keeps the host, and the device is no faster for it."""
    return _blocked(report) if mostly_copies(report.syncs) else iter(())


@rule(
    "compile-time",
    condition="Compilers took 1 % of the time or more.",
    says=(
        "{compiles:count compile} took {time:time} ({time:of wall}), most in {name:name 50} ({count:count time})"
        "[; {recompiles:count recompile}, {reason}]."
    ),
    remedy="See what and why with `eventide trace compile`.",
)
def compile_time(report: Report) -> Iterator[Match]:
    """Outermost compiles of all threads."""
    compile_ = report.compiles
    if compile_.time and compile_.time * 100 >= compile_.wall:
        first = compile_.table[0]
        values: dict[str, Any] = {"compiles": compile_.count, "time": compile_.time, "wall": compile_.wall}
        reason = next((f"of {row.name} since {row.reasons[0]}" for row in compile_.table if row.reasons), None)
        values |= {"name": first.name, "count": first.count, "recompiles": compile_.recompiles, "reason": reason}
        share = compile_.time / compile_.wall
        yield Match(share, values, weight=max(share, _MOST_OF_STEPS) if _is_most_of_steps(report) else share)


def _is_most_of_steps(report: Report) -> bool:
    """Whether the steps of a training on the host mostly compiled."""
    times = report.phases.totals()
    return not report.breakdown.devices and 0 < sum(times.values()) <= 2 * times["compile"]


@rule(
    "slow-step",
    condition="Of three or more steps the slowest took 1.2 times the median or more.",
    says="{step} took {time:time}, the median of {steps} steps is {median:time}[; {more:time} more in {phase}].",
    remedy="See what was different: `eventide trace critical-path TRACE --step {number}`.",
)
def slow_step(report: Report) -> Iterator[Match]:
    """As important as the time above the median that is not compiling, which has a rule of its own."""
    lengths = sorted(step.duration for step in report.steps)
    if len(lengths) < 3:
        return
    median = lengths[len(lengths) // 2]
    slowest = max(report.steps, key=lambda step: step.duration)
    if slowest.duration >= 1.2 * median:
        values = {"step": slowest.name, "time": slowest.duration, "steps": len(lengths), "median": median}
        values["number"] = slowest.name.rpartition("#")[2]
        values |= _longer_phase(report, slowest.start)
        share = (slowest.duration - median) / max(report.summary.wall, 1)
        compiled = sum(each.compile for each in report.phases.steps if each.start == slowest.start)
        weight = max(slowest.duration - median - compiled, 0) / max(report.summary.wall, 1)
        yield Match(share, values, weight, place=(slowest.start, slowest.end))


def _longer_phase(report: Report, start: int) -> dict[str, object]:
    """The phase with half of the time that the step has above the median or more; None if none is recorded."""
    steps = report.phases.steps
    step = next((each for each in steps if each.start == start), None)
    if step is None:
        return {"phase": None, "more": None}
    medians = {phase: sorted(getattr(each, phase) for each in steps)[len(steps) // 2] for phase in PHASES}
    more, phase = max((getattr(step, phase) - medians[phase], phase) for phase in PHASES)
    median = sorted(each.duration for each in steps)[len(steps) // 2]
    known = more > 0 and 2 * more >= step.duration - median
    return {"phase": phase, "more": more} if known else {"phase": None, "more": None}


@rule(
    "off-cpu",
    condition="Work on the CPU was without a core, without the GIL or asleep for 10 % of its time or more.",
    says=(
        "Work on the CPU ran without a core, without the GIL or asleep for {off:of total} of its time ({off:time}), "
        "most in {name:name}."
    ),
    remedy="Use fewer streams than cores, or work without the GIL.",
)
def off_cpu(report: Report) -> Iterator[Match]:
    """Only recordings of Eventide have the CPU time of work."""
    rows = [row for row in report.summary.device if row.off_cpu is not None]
    off, total = sum(row.off_cpu or 0 for row in rows), sum(row.total for row in rows)
    if total and off * 10 >= total:
        first = max(rows, key=lambda row: row.off_cpu or 0)
        share = off / max(report.summary.wall, 1)
        yield Match(share, {"off": off, "total": total, "name": first.name}, weight=0.5 * share)
