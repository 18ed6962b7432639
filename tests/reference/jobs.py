"""Jobs of many ranks whose truth is known, as Kineto files; and plain Python for what the package computes natively."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from eventide.jobs._match import Matched


@dataclass(frozen=True)
class Plan:
    """Each step: `compute` us of a kernel (more on the slow rank), then an all-reduce of `transfer` us."""

    ranks: int = 4
    steps: int = 3
    compute: int = 1000
    transfer: int = 50
    slow: int | None = None
    slow_compute: int = 1600
    slow_steps: tuple[int, ...] | None = None  # in which the slow rank is slow; None: in all
    slow_link: int | None = None  # the step in which the transfer takes four times as long
    slow_grid: int = 64  # blocks of its kernel; of the others 64
    comms_id: bool = True
    late_host: int = 0  # us that the host of the slow rank is late, before the kernel


def write_job(folder: Path, plan: Plan = Plan(), offsets: Mapping[int, int] = {}) -> list[Path]:
    """One file for each rank, in a folder that is made; `offsets`: us that a rank's clock is fast."""
    folder.mkdir(parents=True, exist_ok=True)
    return [write_rank(folder / f"rank{rank}.json", rank, plan, offsets.get(rank, 0)) for rank in range(plan.ranks)]


def write_rank(path: Path, rank: int, plan: Plan, offset: int = 0) -> Path:
    events: list[dict[str, Any]] = []
    begin = 1_000_000
    for step in range(plan.steps):
        longest = max(_busy(plan, each, step) for each in range(plan.ranks))
        busy = _busy(plan, rank, step)
        late = plan.late_host if _is_slow(plan, rank, step) else 0
        end = begin + longest + plan.transfer * (4 if step == plan.slow_link else 1)
        events.append(_event("user_annotation", f"ProfilerStep#{step}", begin, end - begin, tid=rank + 1, pid=7))
        grid = [plan.slow_grid if rank == plan.slow else 64, 1, 1]
        kernel = {"stream": 7, "device": 0, "correlation": 10 * step + 1, "grid": grid, "block": [128, 1, 1]}
        events.append(_event("kernel", "gemm", begin + late, busy - late, pid=0, tid=7, args=kernel))
        about = {
            "stream": 20, "device": 0, "correlation": 10 * step + 2, "Collective name": "allreduce", "dtype": "Float",
            "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": plan.ranks, "Process Group Name": "0",
            "Process Group Ranks": str(list(range(plan.ranks))),
        }  # fmt: skip
        if plan.comms_id:
            about["Comms Id"] = str(900 + step)
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
        events.append(_event("kernel", name, begin + busy, end - begin - busy, pid=0, tid=20, args=about))
        begin = end
    for event in events:
        event["ts"] += offset
    job = {"rank": rank, "world_size": plan.ranks, "backend": "nccl"}
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": job, "traceEvents": events}), "utf-8")
    return path


def _is_slow(plan: Plan, rank: int, step: int) -> bool:
    return rank == plan.slow and (plan.slow_steps is None or step in plan.slow_steps)


def _busy(plan: Plan, rank: int, step: int) -> int:
    return plan.slow_compute + plan.late_host if _is_slow(plan, rank, step) else plan.compute


def _event(category: str, name: str, start: int, duration: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": start + 0.001, "dur": duration, **more}


def matched(ranks: int, rows: Iterable[tuple[int, int, int, int]], role: Mapping[tuple[int, int], int] = {}) -> Matched:
    """From rows of (rank, collective, start, end); everybody provides and receives unless `role` says otherwise."""
    columns = np.array(list(rows), np.int64).reshape(-1, 4)
    return matched_columns(ranks, columns[np.lexsort((columns[:, 3], columns[:, 2], columns[:, 0]))], role)


def matched_columns(
    ranks: int, rows: np.ndarray[Any, np.dtype[np.int64]], role: Mapping[tuple[int, int], int]
) -> Matched:
    """The same from an array, sorted by rank and start."""
    rank, collective, start, end = (rows[:, column].copy() for column in range(4))
    count = int(collective.max()) + 1
    roles = np.full(len(rows), 3, np.uint8)
    for (one, which), value in role.items():
        roles[(rank == one) & (collective == which)] = value
    keys = tuple(f"key {each}" for each in range(count))
    none: tuple[None, ...] = (None,) * count
    kinds = ("all_reduce",) * count
    unknown = np.full(len(rows), -1, np.int64)
    return Matched(
        tuple(range(ranks)), rank, collective, keys, kinds, none, none, start, end, unknown, roles,
        np.arange(len(rows)), 0, 0,
    )  # fmt: skip


Line = tuple[Fraction, Fraction, bool]  # time, bound, upper


def line_range(lines: Sequence[Line], drift: Fraction, at: Fraction) -> tuple[Fraction, Fraction] | None:
    """The lowest and the highest value at time `at` of a line within all bounds; None if there is none.

    The vertices of the polygon of (value at `at`, slope) are where two of its sides cross: all of them are tried.
    """
    sides = [(Fraction(1), time - at, bound, upper) for time, bound, upper in lines]
    sides += [(Fraction(0), Fraction(1), drift, True), (Fraction(0), Fraction(1), -drift, False)]
    values = []
    for (a, b, c, _), (d, e, g, _) in itertools.combinations(sides, 2):
        determinant = a * e - b * d
        if determinant == 0:
            continue
        value, slope = (c * e - b * g) / determinant, (a * g - c * d) / determinant
        if all(p * value + q * slope <= r if upper else p * value + q * slope >= r for p, q, r, upper in sides):
            values.append(value)
    return (min(values), max(values)) if values else None


def replay(durations: Sequence[float], edges: Iterable[tuple[int, int]], gangs: Sequence[int]) -> list[float]:
    """When each operation ends: repeat until nothing changes."""
    before: dict[int, list[int]] = {number: [] for number in range(len(durations))}
    for one, other in edges:
        before[other].append(one)
    end = list(durations)
    changed = True
    while changed:
        changed = False
        for number, duration in enumerate(durations):
            together = [each for each in range(len(durations)) if each == number or gangs[each] == gangs[number] >= 0]
            start = max((end[one] for each in together for one in before[each]), default=0.0)
            if end[number] != start + duration:
                end[number], changed = start + duration, True
    return end
