"""How unevenly steps are spread over ranks and stages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from eventide.jobs._job import Job
from eventide.jobs._schema import WHOLE


@dataclass(frozen=True)
class StageRow:
    """The ranks of a stage in the mean of the steps; nanoseconds."""

    stage: int | None  # None: the traces say nothing about stages
    ranks: int
    compute: float | None  # mean of its ranks; None: no rank has a device
    slowest: int  # rank
    slowest_compute: float | None
    imbalance: float | None  # the slowest over the mean, less 1


@dataclass(frozen=True)
class RankRow:
    """One rank in the mean of its steps; nanoseconds."""

    rank: int
    stage: int | None
    steps: int  # 0: its trace has none, and the rest is of the whole trace
    length: float
    compute: float | None
    communication: float | None  # that nothing hides
    copy: float | None
    overlap: float | None
    idle: float | None


@dataclass(frozen=True)
class Imbalance:
    """Stages by compute, largest first; ranks by number; `lengths[step][rank]` in nanoseconds."""

    stages: tuple[StageRow, ...]
    ranks: tuple[RankRow, ...]
    lengths: dict[str, dict[int, int]]
    resolution: int  # to which each span is known; all are on the clock of their own rank


_PARTS = ("compute", "communication", "copy", "overlap", "idle")


def imbalance(job: Job) -> Imbalance:
    """Computation by rank and by stage: no clock is needed for it."""
    by_rank: dict[int, list[dict[str, int]]] = defaultdict(list)
    lengths: dict[str, dict[int, int]] = {}
    for row in job.steps.to_pylist():
        by_rank[row["rank"]].append(row)
        lengths.setdefault(row["step"], {})[row["rank"]] = row["end"] - row["start"]
    stage = {each.rank: each.stage for each in job.ranks}
    ranks = tuple(_rank(number, stage[number], rows) for number, rows in sorted(by_rank.items()))
    members: dict[int | None, list[RankRow]] = defaultdict(list)
    with_steps = [each for each in ranks if each.steps]
    for each in with_steps or ranks:  # a whole trace is not comparable with a step
        members[each.stage].append(each)
    stages = [_stage(number, rows) for number, rows in members.items()]
    resolution = max((each.resolution for each in job.ranks), default=1)
    return Imbalance(tuple(sorted(stages, key=lambda row: -(row.compute or 0))), ranks, lengths, resolution)


def _rank(rank: int, stage: int | None, rows: list[dict[str, int]]) -> RankRow:
    length = float(np.mean([row["end"] - row["start"] for row in rows]))
    known = [row for row in rows if row["compute"] is not None]
    means = {name: float(np.mean([row[name] for row in known])) if known else None for name in _PARTS}
    steps = 0 if [row["step"] for row in rows] == [WHOLE] else len(rows)
    return RankRow(rank, stage, steps, length, **means)


def _stage(stage: int | None, rows: list[RankRow]) -> StageRow:
    known = [(row.compute, row.rank) for row in rows if row.compute is not None]
    if not known:
        slow = max(rows, key=lambda row: row.length)
        return StageRow(stage, len(rows), None, slow.rank, None, None)
    mean = float(np.mean([time for time, _ in known]))
    most, rank = max(known)
    return StageRow(stage, len(rows), mean, rank, most, most / mean - 1 if mean else None)
