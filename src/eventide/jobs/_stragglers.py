"""Which ranks slow the job down, by how much, why, and whether it is always the same one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from eventide.jobs._job import Job
from eventide.jobs._match import Matched
from eventide.jobs._operations import JobOperations, operations_of
from eventide.jobs._waiting import Waiting, WaitRow
from eventide.jobs._what_if import Share, WhatIf, typical, what_if

# Of each part of the time before a collective: what it is called, and its meaning with and without a device.
CAUSES = {
    "before_compute": (
        "computation",
        "computation took longer than on the other ranks",
        "operators took longer than on the other ranks",
    ),
    "before_copy": (
        "copies",
        "copies took longer than on the other ranks",
        "copies took longer than on the other ranks",
    ),
    "before_gc": (
        "garbage collection",
        "the host collected garbage while the device was idle",
        "the host collected garbage",
    ),
    "before_idle": (
        "host late",
        "the host was late: the device was idle longer than on the other ranks",
        "the host was late: it spent more time outside of operators than the other ranks",
    ),
}
REPLAYED = 64  # ranks, and steps, each by itself: all of a small job
PERSISTENT = 0.5  # a rank that is waited for most in this share of the steps


@dataclass(frozen=True)
class Cause:
    """Time that a rank needed before its collectives beyond the median of the ranks."""

    what: str
    time: float
    meaning: str


@dataclass(frozen=True)
class SlowName:
    """Kernels of one name and shape that took longer on the rank: as often as on the others, or more often."""

    name: str
    grid: str | None  # the shape; None: the trace has none
    time: int
    median: float  # of the other ranks
    count: int
    usual_count: float


@dataclass(frozen=True)
class Straggler:
    """A rank, its share of the slowdown, and its own causes, largest first."""

    rank: int
    slowdown: float
    explains: float
    waited_for: float  # what all others waited for it
    causes: tuple[Cause, ...]
    names: tuple[SlowName, ...]


@dataclass(frozen=True)
class Stragglers:
    """Times are nanoseconds. `replay_error`: the replay's length against the measured one; S is not known better."""

    what_if: WhatIf
    replay_error: float
    stragglers: tuple[Straggler, ...]
    pattern: str  # persistent, moving, or not known
    pattern_rank: int | None
    most_waited_for: tuple[tuple[str, int, float], ...]  # (step, rank, cost) of each step
    operations: JobOperations

    @property
    def resolved(self) -> bool:
        """The slowdown is larger than the error of the replay."""
        return self.what_if.slowdown - 1 > abs(self.replay_error)


def stragglers(job: Job, waits: Waiting, most: int = 5) -> Stragglers:
    """Replay the job without stragglers, and explain the ranks that slow it down most."""
    made = operations_of(job, waits.clocks)
    steps = _slow_steps(made, waits)
    found = what_if(made.ops, typical(made.ops, made.like), _candidates(waits), (made.part, steps))
    error = found.actual / made.measured - 1 if made.measured > 0 else 0.0
    by_rank = {each.rank: each.cost for each in waits.ranks}
    chosen = sorted(found.ranks, key=lambda share: (-share.explains, -by_rank[int(share.name)]))[:most]
    explained = [_straggler(job, waits.clocks.matched, share, by_rank[int(share.name)]) for share in chosen]
    return Stragglers(found, error, tuple(explained), *_pattern(waits.rows), made)


def _candidates(waits: Waiting) -> list[int]:
    """Aligned ranks, of many those that the others waited for most: a rank that is never last delays no other."""
    away = set(waits.clocks.unaligned)
    ranks = [each.rank for each in waits.ranks if each.rank not in away]
    return ranks[: max(REPLAYED, math.ceil(0.03 * len(ranks)))]


def _slow_steps(made: JobOperations, waits: Waiting) -> dict[int, str]:
    """Of many steps those with most waiting; of one step nothing is to be explained."""
    waited: Counter[str] = Counter(dict.fromkeys(made.steps, 0))
    for row in waits.rows:
        if row.step is not None:
            waited[row.step] += row.waiting  # type: ignore[assignment]
    chosen = {name for name, _ in waited.most_common(REPLAYED)} if len(made.steps) > 1 else set()
    return {place: name for place, name in enumerate(made.steps) if name in chosen}


def _straggler(job: Job, found: Matched, share: Share, cost: float) -> Straggler:
    rank = int(share.name)
    causes = _causes(job, found, rank)
    return Straggler(rank, share.slowdown, share.explains, cost, causes, _names(job, rank) if causes else ())


def _causes(job: Job, found: Matched, rank: int) -> tuple[Cause, ...]:
    """What the rank needed before each collective beyond the median of all its ranks, by kind of time."""
    table = job.collectives.take(found.row)
    mine = np.flatnonzero(found.rank == found.ranks.index(rank))
    order = np.argsort(found.collective, kind="stable")
    first = np.searchsorted(found.collective[order], np.arange(len(found.keys) + 1))
    causes = []
    on_host = table.column("exposed").null_count == table.num_rows
    for column, (what, *meanings) in CAUSES.items():
        times = table.column(column).to_numpy()
        usual = [np.median(times[order[first[key] : first[key + 1]]]) for key in found.collective[mine].tolist()]
        excess = float((times[mine] - np.array(usual)).sum()) if len(mine) else 0.0
        if excess > 0:
            causes.append(Cause(what, excess, meanings[on_host]))
    return tuple(sorted(causes, key=lambda cause: -cause.time))


def _names(job: Job, rank: int, most: int = 3) -> tuple[SlowName, ...]:
    """Work, but communication, whose total exceeds the median of the other ranks most."""
    table = job.summary.filter(pc.not_equal(job.summary.column("category"), "communication"))
    mine = pc.equal(table.column("rank"), rank)
    own = table.filter(mine)
    others: dict[tuple[str, str | None], list[tuple[int, int]]] = {}
    for row in table.filter(pc.and_(pc.invert(mine), pc.is_in(table.column("name"), own.column("name")))).to_pylist():
        others.setdefault((row["name"], row["grid"]), []).append((row["total"], row["count"]))
    found = []
    for row in own.to_pylist():
        like = others.get((row["name"], row["grid"]))
        if like is not None:
            total, count = (float(each) for each in np.median(np.array(like), axis=0))
            if row["total"] > total:
                found.append(SlowName(row["name"], row["grid"], row["total"], total, row["count"], count))
    return tuple(sorted(found, key=lambda each: each.median - each.time)[:most])


def _pattern(rows: Sequence[WaitRow]) -> tuple[str, int | None, tuple[tuple[str, int, float], ...]]:
    """Who was waited for most in each step; the same rank in half of the steps is persistent."""
    cost: dict[str, Counter[int]] = {}
    for row in rows:
        if row.step is not None and row.resolved != "no":
            cost.setdefault(row.step, Counter())[row.last] += row.waiting  # type: ignore[assignment]
    steps = tuple((step, *max(ranks.items(), key=lambda item: (item[1], -item[0]))) for step, ranks in cost.items())
    if len(steps) < 2:
        return "not known", None, steps
    rank, times = Counter(rank for _, rank, _ in steps).most_common(1)[0]
    if times >= PERSISTENT * len(steps):
        return "persistent", rank, steps
    return "moving", None, steps
