"""The collectives of a job, and what each rank did between them, as operations to replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventide.jobs._clocks import Clocks
from eventide.jobs._job import Job
from eventide.jobs._match import PROVIDES, RECEIVES, Bools
from eventide.jobs._replay import Floats, Ints, Operations

BEGIN, TAIL = "begin of the recording", "after the last collective"


@dataclass(frozen=True)
class JobOperations:
    """`row`: of `Clocks.matched`, -1 if not a collective. `like`: those of one number have one typical duration."""

    ops: Operations
    like: Ints
    row: Ints
    part: Ints  # the step of the job, as a place in `steps`; -1: none
    steps: tuple[str, ...]
    measured: float  # the job's length, to compare the replay with
    windows: dict[int, tuple[float, float]]  # of each aligned rank, on the common clock: its recording


@dataclass
class _Builder:
    """Columns in the making, an array of each for every rank; the operations of a rank follow each other."""

    names: list[str]  # of kinds
    columns: list[dict[str, Floats | Ints]] = field(default_factory=list)
    edges: list[tuple[Ints, Ints]] = field(default_factory=list)
    count: int = 0

    def add(self, columns: dict[str, Floats | Ints], before: Ints, after: Ints) -> None:
        """`before`, `after`: edges, as places in these columns."""
        self.columns.append(columns)
        self.edges.append((before + self.count, after + self.count))
        self.count += len(columns["duration"])

    def column(self, name: str, kind: type) -> NDArray[Any]:
        return np.concatenate([part[name] for part in self.columns] or [np.empty(0)]).astype(kind)


def operations_of(job: Job, clocks: Clocks) -> JobOperations:
    """Operations of all aligned ranks, as one chain from the begin of the recording to its end.

    Before each collective is one operation: all that its rank did since its latest collective that had ended. The
    collectives that synchronize are gangs, whose members last as long as they transfer.
    """
    stages = {each.rank: -1 if each.stage is None else each.stage for each in job.ranks}
    windows = _windows(job, clocks)
    begin = min((low for low, _ in windows.values()), default=0.0)
    latest = begin
    gangs = _gangs(clocks)
    build = _Builder(gangs.names)
    for rank, window in windows.items():
        end = _chain(build, clocks, (rank, stages[rank]), (begin, *window), gangs)
        latest = max(latest, window[1], end)
    return _built(build, latest - begin, clocks, windows)


@dataclass(frozen=True)
class _Gangs:
    """Of each collective: when its last rank started, whether a rank need not wait in it, and its kinds' numbers."""

    last: Floats
    open: Bools
    names: list[str]
    before: Ints  # the kind of what comes before it
    kind: Ints


def _gangs(clocks: Clocks) -> _Gangs:
    found = clocks.matched
    whole = (found.role == PROVIDES | RECEIVES) & np.isfinite(clocks.error)
    last = np.full(len(found.keys), -np.inf)
    np.maximum.at(last, found.collective[whole], clocks.start[whole])
    names = [BEGIN, TAIL]
    words = [kind or "collective" for kind in found.kinds]
    for word in dict.fromkeys(words):
        names += [f"before {word}", word]
    number = {name: place for place, name in enumerate(names)}
    before = np.array([number[f"before {word}"] for word in words], np.int64)
    not_whole = np.bincount(found.collective, weights=~whole, minlength=len(found.keys)) > 0
    return _Gangs(last, not_whole, names, before, before + 1)


def _chain(
    build: _Builder, clocks: Clocks, who: tuple[int, int], times: tuple[float, float, float], gangs: _Gangs
) -> float:
    """The operations of one rank: its begin, two for each collective, its end. When the last collective ended.

    `who`: rank and stage. `times`: when the job begins, when the recording of the rank begins, when it ends.
    """
    found = clocks.matched
    rows = np.flatnonzero((found.rank == found.ranks.index(who[0])) & np.isfinite(clocks.error))
    start, end, key = clocks.start[rows], clocks.end[rows], found.collective[rows]
    anchor = _latest_ended(start, end)
    since = np.where(anchor >= 0, end[anchor], times[1]) if len(rows) else start
    together = ~gangs.open[key]
    transfer = end - np.where(together, np.maximum(start, gangs.last[key]), start)
    last = int(np.flatnonzero(end == end.max())[-1]) if len(rows) and end.max() >= times[1] else -1
    final = float(end[last]) if last >= 0 else times[1]
    count = 2 * len(rows) + 2

    def column(first: float, before: Any, collective: Any, tail: float) -> NDArray[Any]:
        made = np.empty(count)
        made[0], made[-1], made[1:-1:2], made[2:-1:2] = first, tail, before, collective
        return made

    columns: dict[str, Floats | Ints] = {
        "duration": np.maximum(column(times[1] - times[0], start - since, transfer, times[2] - final), 0.0),
        "kind": column(0, gangs.before[key], gangs.kind[key], 1),
        "rank": np.full(count, who[0]),
        "stage": np.full(count, who[1]),
        "gang": column(-1, -1, np.where(together, key, -1), -1),
        "like": column(0, 2 + 2 * key, 3 + 2 * key, 1),
        "row": column(-1, -1, rows, -1),
    }
    places = np.arange(len(rows), dtype=np.int64)
    ahead = np.concatenate([2 * anchor + 2, 2 * places + 1, [2 * last + 2]])  # of a place -1: the begin
    build.add(columns, ahead, np.concatenate([2 * places + 1, 2 * places + 2, [count - 1]]))
    return final


def _latest_ended(start: Floats, end: Floats) -> Ints:
    """For each row the one before it that had ended last when it started; -1: none had."""
    order = np.argsort(end, kind="stable")
    place = np.searchsorted(end[order], start, side="right") - 1
    own = np.arange(len(start))
    while True:
        found = np.where(place >= 0, order[np.maximum(place, 0)], -1) if len(order) else place
        late = found >= own  # an empty row ends when it starts, and so may those after it
        if not late.any():
            return found.astype(np.int64)
        place = place - late


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


def _built(build: _Builder, measured: float, clocks: Clocks, windows: dict[int, tuple[float, float]]) -> JobOperations:
    kind, rank, stage, gang, like, row = (
        build.column(name, np.int64) for name in ("kind", "rank", "stage", "gang", "like", "row")
    )
    before, after = (np.concatenate([edge[side] for edge in build.edges] or [np.empty(0, np.int64)]) for side in (0, 1))
    step = np.zeros(build.count, np.int64)
    ops = Operations(
        build.column("duration", np.float64), kind, tuple(build.names), rank, stage, step, gang, before, after
    )
    names = tuple(dict.fromkeys(name for name in clocks.matched.steps if name is not None))
    number = {name: place for place, name in enumerate(names)}
    of_key = np.array([-1 if name is None else number[name] for name in clocks.matched.steps], np.int64)
    key = (like - 2) // 2  # begin and end of a rank are of no step
    part = np.where(key >= 0, of_key[np.maximum(key, 0)], -1) if len(of_key) else np.full(len(like), -1, np.int64)
    return JobOperations(ops, like, row, part, names, measured, windows)
