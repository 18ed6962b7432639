"""The collectives of a job, and what each rank did between them, as operations to replay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eventide.jobs._clocks import Clocks
from eventide.jobs._job import Job
from eventide.jobs._match import PROVIDES, RECEIVES, Bools
from eventide.jobs._replay import Floats, Ints, Operations

BEGIN, TAIL = "begin of the recording", "after the last collective"


@dataclass(frozen=True)
class JobOperations:
    """`row`: of `Clocks.matched`, -1 if it is no collective. `like`: those of one number have one typical duration."""

    ops: Operations
    like: Ints
    row: Ints
    measured: float  # the job's length, to compare the replay with


@dataclass(frozen=True)
class _Who:
    """A rank, and when its recording begins on the common clock."""

    rank: int
    stage: int
    begin: float


@dataclass
class _Builder:
    """Columns in the making; each `add` returns the operation's number."""

    kinds: dict[str, int] = field(default_factory=dict)
    likes: dict[str, int] = field(default_factory=dict)
    columns: list[tuple[float, int, int, int, int, int, int]] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def add(
        self, duration: float, names: tuple[str, str], who: _Who, *, gang: int = -1, row: int = -1, after: int
    ) -> int:
        """`names`: of its kind, and of its like. `after`: the operation that it waits for, or -1."""
        number = len(self.columns)
        kind_id = self.kinds.setdefault(names[0], len(self.kinds))
        like_id = self.likes.setdefault(names[1], len(self.likes))
        self.columns.append((max(duration, 0.0), kind_id, who.rank, who.stage, gang, like_id, row))
        if after >= 0:
            self.edges.append((after, number))
        return number


def operations_of(job: Job, clocks: Clocks) -> JobOperations:
    """Operations of all aligned ranks, as one chain from the begin of the recording to its end.

    Before each collective is one operation: all that its rank did since its latest collective that had ended. The
    collectives that synchronize are gangs, whose members last as long as they transfer.
    """
    build = _Builder()
    stages = {each.rank: -1 if each.stage is None else each.stage for each in job.ranks}
    windows = _windows(job, clocks)
    begin = min((low for low, _ in windows.values()), default=0.0)
    latest = begin
    gangs = _gangs(clocks)
    for rank, (low, high) in windows.items():
        who = _Who(rank, stages[rank], low)
        first = build.add(low - begin, (BEGIN, BEGIN), who, after=-1)
        end, final = _chain(build, clocks, who, first, gangs)
        latest = max(latest, high, end)
        build.add(high - end, (TAIL, TAIL), who, after=final)
    return _built(build, latest - begin)


@dataclass(frozen=True)
class _Gangs:
    """Of each collective: when its last rank started, and whether a rank need not wait in it."""

    last: Floats
    open: Bools


def _gangs(clocks: Clocks) -> _Gangs:
    found = clocks.matched
    whole = (found.role == PROVIDES | RECEIVES) & np.isfinite(clocks.error)
    last = np.full(len(found.keys), -np.inf)
    np.maximum.at(last, found.collective[whole], clocks.start[whole])
    return _Gangs(last, np.bincount(found.collective, weights=~whole, minlength=len(found.keys)) > 0)


def _chain(build: _Builder, clocks: Clocks, who: _Who, first: int, gangs: _Gangs) -> tuple[float, int]:
    """The operations of one rank in order of their start; when the last of them ended, and its number."""
    found = clocks.matched
    rows = np.flatnonzero((found.rank == found.ranks.index(who.rank)) & np.isfinite(clocks.error))
    ended = [(who.begin, first)]  # collectives that have ended, by their end
    pending: list[tuple[float, int]] = []
    for row in rows.tolist():
        start, end, key = float(clocks.start[row]), float(clocks.end[row]), int(found.collective[row])
        pending.sort()
        while pending and pending[0][0] <= start:
            ended.append(pending.pop(0))
        anchor, after = ended[-1]
        name = found.kinds[key] or "collective"
        before = build.add(start - anchor, (f"before {name}", f"before {found.keys[key]}"), who, after=after)
        together = not gangs.open[key]
        duration = end - max(start, float(gangs.last[key])) if together else end - start
        gang = key if together else -1
        each = build.add(duration, (name, found.keys[key]), who, gang=gang, row=row, after=before)
        pending.append((end, each))
    return max([*ended, *pending])


def _windows(job: Job, clocks: Clocks) -> dict[int, tuple[float, float]]:
    """From the begin of the first step of each aligned rank to the end of its last, on the common clock."""
    steps = job.steps.group_by("rank").aggregate([("start", "min"), ("end", "max")]).to_pylist()
    around = {row["rank"]: (row["start_min"], row["end_max"]) for row in steps}
    found = {}
    for index, rank in enumerate(clocks.matched.ranks):
        here = (clocks.matched.rank == index) & np.isfinite(clocks.error)
        if here.any():
            low, high = clocks.start[here].min(), clocks.end[here].max()
            if rank in around:
                first, last = clocks.shift(rank, np.array(around[rank]))
                low, high = min(low, first), max(high, last)
            found[rank] = (float(low), float(high))
    return found


def _built(build: _Builder, measured: float) -> JobOperations:
    columns = np.array(build.columns, np.float64).reshape(-1, 7)
    kind, rank, stage, gang, like, row = (columns[:, place].astype(np.int64) for place in range(1, 7))
    edges = np.array(build.edges, np.int64).reshape(-1, 2)
    step = np.zeros(len(columns), np.int64)
    kinds = tuple(build.kinds)
    ops = Operations(columns[:, 0].copy(), kind, kinds, rank, stage, step, gang, edges[:, 0], edges[:, 1])
    return JobOperations(ops, like, row, measured)
