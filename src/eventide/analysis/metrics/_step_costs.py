"""Each step split by what kept it: kernels, copies, fills, collectives, runtime calls, data loading, operators, rest.

A moment counts for the first of these that was going on, so the parts sum to the step; this is the split of the
TensorBoard plug-in of torch.profiler. A step ends when the work that it launched has ended, and the next begins there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._intervals import shares
from eventide.analysis._view import COMMUNICATION, COPY, Bools, Ints, View, steps_of, view_of
from eventide.trace import Trace

PARTS = ("kernel", "memcpy", "memset", "communication", "runtime", "data_loading", "operators", "other")
LOADING = re.compile(r"DataLoader.*__next__|^DataLoader|dataloader.*next", re.IGNORECASE)
_MEMSET = re.compile(r"memset", re.IGNORECASE)


@dataclass(frozen=True)
class StepCost:
    """One step; the parts sum to `wall`. Times are nanoseconds."""

    step: str
    start: int
    wall: int
    kernel: int
    memcpy: int
    memset: int
    communication: int  # of a device, beside no kernel and no copy
    runtime: int
    data_loading: int
    operators: int
    other: int


@dataclass(frozen=True, repr=False)
class StepCosts(show.Result):
    """By time. Without recorded steps the whole window is one, named "whole"."""

    rows: tuple[StepCost, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "step": show.text,
        "wall": show.time,
        **dict.fromkeys(PARTS, show.time),
    }
    _row: ClassVar[type] = StepCost
    _heads: ClassVar[Mapping[str, str]] = {"communication": "comm", "data_loading": "loading", "operators": "ops"}

    def _rows(self) -> tuple[StepCost, ...]:
        return self.rows

    def share(self, part: str) -> float:
        """The share of a part in all steps, in per cent."""
        wall = sum(row.wall for row in self.rows)
        return 100 * sum(getattr(row, part) for row in self.rows) / wall if wall else 0.0

    def _heading(self) -> str:
        if not self.rows:
            return "the trace is empty"
        count, wall = len(self.rows), sum(row.wall for row in self.rows)
        parts = [(part, sum(getattr(row, part) for row in self.rows)) for part in PARTS]
        listed = ", ".join(f"{part.replace('_', ' ')} {f.percent(time, wall)}" for part, time in parts if time)
        return f"{f.count(count, 'step')} of {f.time(wall / count)} on average: {listed}"


def step_costs(trace: Trace | View) -> StepCosts:
    """Split each step."""
    view = view_of(trace)
    names, start, end = step_windows(view)
    if len(names) == 0 or view.count == 0:
        return StepCosts(())
    which = {part: np.flatnonzero(mask) for part, mask in _masks(view).items()}
    parts = {1 << index: (view.start[which[part]], view.end[which[part]]) for index, part in enumerate(PARTS[:-1])}
    times = {part: np.zeros(len(names), np.int64) for part in PARTS}
    for mask, time in shares(parts).within(start, end).items():
        times[PARTS[(mask & -mask).bit_length() - 1] if mask else "other"] += time
    columns = (names, start.tolist(), (end - start).tolist(), *(times[part].tolist() for part in PARTS))
    return StepCosts(tuple(StepCost(*row) for row in zip(*columns, strict=True)))


def _masks(view: View) -> dict[str, Bools]:
    thread = view.on_kind("thread")
    fills = np.array([bool(_MEMSET.search(name)) for name in view.names], dtype=bool)[view.name]
    loads = loading(view)
    collective = view.bits == COMMUNICATION
    return {
        "kernel": (view.bits > 0) & ~collective & (view.bits != COPY),
        "memcpy": (view.bits == COPY) & ~fills,
        "memset": (view.bits == COPY) & fills,
        "communication": collective,
        "runtime": view.in_categories("runtime", "sync") & thread,
        "data_loading": loads,
        "operators": view.in_categories("op", "compile") & thread & ~loads,
    }


def loading(view: View) -> Bools:
    """Host spans in which the program waits for the next batch of a data loader."""
    named = np.array([bool(LOADING.search(name)) for name in view.names], dtype=bool)
    return named[view.name] & view.on_kind("thread") & view.in_categories("op", "annotation", "span")


def step_windows(view: View) -> tuple[list[str], Ints, Ints]:
    """Each step until the work that it launched has ended; the next begins no earlier."""
    steps = steps_of(view)
    if not steps:
        return ["whole"], np.array([view.window[0]]), np.array([view.window[1]])
    start = np.array([step.start for step in steps], np.int64)
    end = np.array([step.end for step in steps], np.int64)
    begin = launches_of(view).begin
    work = np.flatnonzero((view.bits > 0) & (begin != NEVER))
    place = np.searchsorted(start, begin[work], side="right") - 1
    inside = (place >= 0) & (begin[work] < end[np.maximum(place, 0)])
    last = np.full(len(steps), NEVER, np.int64)
    np.maximum.at(last, place[inside], view.end[work[inside]])
    end = np.maximum.accumulate(np.maximum(end, last))
    if inside.any():
        start = np.maximum(start, np.append(start[0], end[:-1]))
    return [step.name for step in steps], start, end
