"""The steps of a training loop on the host: compiling, data, optimizer, backward, forward, and the rest.

A moment counts for the first of these that was going on, on any thread, so the parts of a step sum to it. Forward is
what modules and operators do outside of the others: the loss is in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._intervals import shares
from eventide.analysis._view import Bools, Step, View, steps_of, view_of
from eventide.trace import Trace

PHASES = ("compile", "data", "optimizer", "backward", "forward")  # the first one counts
_NAMES = {
    "data": re.compile(r"^enumerate\(DataLoader\)|^enumerate\(DataPipe\)|DataLoader.*__next__"),
    "optimizer": re.compile(r"^Optimizer\.(step|zero_grad)#|^\W*optimizer\W*$"),
    "backward": re.compile(r"^autograd::engine::evaluate_function|Backward\d*$|^\W*backward\W*$"),
}
_CATEGORIES = {"compile": ("compile",), "forward": ("module", "op")}


@dataclass(frozen=True)
class StepPhases:
    """One step; the times, in nanoseconds, sum to its duration."""

    name: str
    start: int
    duration: int
    compile: int
    data: int
    optimizer: int
    backward: int
    forward: int
    other: int  # host code of which nothing is recorded, and calls into devices


@dataclass(frozen=True, repr=False)
class Phases(show.Result):
    """Steps by start; no rows where the trace has no steps."""

    steps: tuple[StepPhases, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "duration": show.time,
        **dict.fromkeys((*PHASES, "other"), show.time),
    }
    _row: ClassVar[type] = StepPhases

    def _rows(self) -> tuple[StepPhases, ...]:
        return self.steps

    def _heading(self) -> str:
        whole = sum(step.duration for step in self.steps)
        parts = ", ".join(f"{f.percent(time, whole)} {phase}" for phase, time in self.totals().items() if time)
        return f"{f.count(len(self.steps), 'step')}{': ' if parts else ''}{parts}"

    def totals(self) -> dict[str, int]:
        """The time of each phase in all steps."""
        return {phase: sum(getattr(step, phase) for step in self.steps) for phase in (*PHASES, "other")}


def step_phases(trace: Trace | View) -> Phases:
    """Split the recorded steps; torch's optimizers and profilers name them."""
    view = view_of(trace)
    steps = steps_of(view)
    return Phases(_split(view, steps) if steps else ())


def _split(view: View, steps: tuple[Step, ...]) -> tuple[StepPhases, ...]:
    covered = {1 << number: _rows_of(view, phase) for number, phase in enumerate(PHASES)}
    intervals = {bit: (view.start[rows], view.end[rows]) for bit, rows in covered.items() if len(rows)}
    start, end = (np.array([getattr(step, at) for step in steps], np.int64) for at in ("start", "end"))
    sums = {phase: np.zeros(len(steps), np.int64) for phase in (*PHASES, "other")}
    for mask, times in shares(intervals).within(start, end).items():
        first = next((phase for number, phase in enumerate(PHASES) if mask >> number & 1), "other")
        sums[first] += times
    columns = [sums[phase].tolist() for phase in (*PHASES, "other")]
    return tuple(
        StepPhases(step.name, step.start, step.duration, *parts) for step, *parts in zip(steps, *columns, strict=True)
    )


def _rows_of(view: View, phase: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    chosen: Bools = view.host & (view.end > view.start)
    if phase in _NAMES:
        named = np.array([_NAMES[phase].search(name) is not None for name in view.names], bool)
        return np.flatnonzero(chosen & named[view.name])
    return np.flatnonzero(chosen & view.in_categories(*_CATEGORIES[phase]))
