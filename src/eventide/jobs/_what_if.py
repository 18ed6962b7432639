"""How much faster a job would be without stragglers, and what explains it.

The method is that of "Understanding Stragglers in Large Model Training Using What-if Analysis" (ByteDance, 2025):
replace the duration of every operation by what is typical for its like - the mean of computations, the median of
transfers - and replay. With only one stage, rank or kind of operation at its real durations, the slowdown that is left
is its own; with only that one replaced, the part of the slowdown that disappears is what it explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from eventide.jobs._replay import Floats, Ints, Operations, Replay

_SLOWEST = 0.03  # the share of the ranks that are "the slowest workers"
_VALUES = 1 << 23  # of all scenarios that are replayed at once: 64 MiB an array


@dataclass(frozen=True)
class Share:
    """A stage, rank or kind of operation. `slowdown`: all others are ideal. `explains`: of the job's, with it ideal."""

    name: str
    slowdown: float
    explains: float


@dataclass(frozen=True)
class WhatIf:
    """Times are means of a step, in the unit of the durations; 1 means no slowdown."""

    actual: float
    ideal: float
    slowdown: float
    stages: tuple[Share, ...]  # by slowdown, largest first
    ranks: tuple[Share, ...]  # those that were replayed by themselves
    operations: tuple[Share, ...]
    slowest_ranks: tuple[int, ...]  # the slowest 3 %, at least one
    explained_by_slowest_ranks: float
    explained_by_last_stage: float | None
    steps: tuple[tuple[int, float], ...]  # slowdown of each step that is replayed from its own begin
    parts: tuple[Share, ...]  # of steps that are replayed one after the other: those that were named


def typical(ops: Operations, like: Ints | None = None) -> Floats:
    """For each operation what is typical for its like, by default for its kind."""
    groups = ops.kind if like is None else like
    names, group = np.unique(groups, return_inverse=True)
    found = np.zeros(len(names))
    order = np.argsort(group, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []:
        transfers = ops.gang[part[0]] >= 0
        found[group[part[0]]] = (np.median if transfers else np.mean)(ops.duration[part])
    return found[group]


def what_if(
    ops: Operations,
    ideal: Floats | None = None,
    only: Sequence[int] | None = None,
    parts: tuple[Ints, dict[int, str]] | None = None,
) -> WhatIf:
    """Replay the job with typical durations: all of them, and all but one stage, rank or kind of operation.

    `only`: the ranks that are replayed by themselves; by default all, which costs ranks times operations. `parts`: a
    number for each operation, and the names of those numbers that are replayed by themselves as well.
    """
    replay = Replay(ops)
    base = typical(ops) if ideal is None else ideal
    at_once = min(max(_VALUES // max(len(ops), 1), 1), 16)

    def lengths(scenarios: list[Floats]) -> Floats:
        return replay.lengths(np.stack(scenarios))[1]

    steps, (actual, best) = replay.lengths(np.stack([ops.duration, base]))
    whole, least = float(actual.mean()), float(best.mean())

    def shares(column: Ints, names: dict[int, str]) -> tuple[Share, ...]:
        found = []
        for some in batched(names, at_once):
            real = lengths([np.where(column == each, ops.duration, base) for each in some]).mean(1)
            fixed = lengths([np.where(column == each, base, ops.duration) for each in some]).mean(1)
            for each, alone, without in zip(some, real, fixed, strict=True):
                found.append(Share(names[each], _ratio(alone, least), _part(whole, without, least)))
        return tuple(sorted(found, key=lambda share: -share.slowdown))

    stages = {int(each): str(each) for each in np.unique(ops.stage[ops.stage >= 0])}
    every = np.unique(ops.rank).tolist()
    ranks = shares(ops.rank, {each: str(each) for each in (every if only is None else only)})
    slowest = tuple(int(share.name) for share in ranks[: math.ceil(len(every) * _SLOWEST)])
    fixes = [np.where(np.isin(ops.rank, slowest), base, ops.duration)]
    if stages:
        fixes.append(np.where(ops.stage == max(stages), base, ops.duration))
    fixed = [_part(whole, time, least) for time in lengths(fixes).mean(1)]
    return WhatIf(
        whole,
        least,
        _ratio(whole, least),
        shares(ops.stage, stages) if stages else (),
        ranks,
        shares(ops.kind, dict(enumerate(ops.kinds))),
        slowest,
        fixed[0],
        fixed[1] if stages else None,
        tuple((int(step), _ratio(one, other)) for step, one, other in zip(steps, actual, best, strict=True)),
        shares(*parts) if parts is not None and parts[1] else (),
    )


def batched(values: Iterable[int], size: int) -> Iterator[list[int]]:
    """Lists of `size`; the last may be shorter. (itertools has it from Python 3.12 on.)"""
    left = iter(values)
    while some := list(islice(left, size)):
        yield some


def _ratio(time: float, ideal: float) -> float:
    return float(time / ideal) if ideal > 0 else 1.0


def _part(whole: float, without: float, least: float) -> float:
    """The part of the slowdown that disappears."""
    return float((whole - without) / (whole - least)) if whole > least else 0.0
