"""Each step split into waiting for data, forward, backward and optimizer, by what the trace names so.

Named are: `DataLoader`, `Optimizer` and annotations of the program that contain the word; the operators of autograd's
engine (backward); modules, and operators that autograd recorded (forward). A phase that nothing names is absent.
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
from eventide.analysis._view import COMMUNICATION, Bools, Ints, Step, View, steps_of, view_of
from eventide.analysis.metrics._args import arg_numbers
from eventide.analysis.metrics._scopes import callers
from eventide.analysis.metrics._step_costs import loading
from eventide.trace import Trace

PHASES = ("loading", "optimizer", "backward", "forward")  # of several at once the first counts
_NAMES = {
    "optimizer": re.compile(r"^Optimizer\.|\boptimizer\b", re.IGNORECASE),
    "backward": re.compile(r"autograd::engine::evaluate_function|\bbackward\b(?!_)|^[A-Z]\w*Backward\d*$"),
    "forward": re.compile(r"\bforward\b", re.IGNORECASE),
}


@dataclass(frozen=True)
class PhaseRow:
    """One step. On the host the phases and `other` sum to `wall`; None: nothing in the trace names the phase."""

    step: str
    wall: int
    loading: int | None
    forward: int | None
    backward: int | None
    optimizer: int | None
    other: int
    device_forward: int | None  # time of the work that was launched in the phase, collectives apart
    device_backward: int | None
    device_optimizer: int | None
    device_other: int
    communication: int  # time of the collectives launched in the step


@dataclass(frozen=True, repr=False)
class PhaseTimes(show.Result):
    """By time. Without recorded steps the whole window is one."""

    rows: tuple[PhaseRow, ...]
    named: tuple[str, ...]  # phases that the trace names

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "step": show.text,
        "wall": show.time,
        **dict.fromkeys(("loading", "forward", "backward", "optimizer", "other"), show.time),
        **dict.fromkeys(("device_forward", "device_backward", "device_optimizer", "communication"), show.time),
    }
    _row: ClassVar[type] = PhaseRow
    _heads: ClassVar[Mapping[str, str]] = {
        "optimizer": "optim.",
        "device_forward": "gpu fwd",
        "device_backward": "gpu bwd",
        "device_optimizer": "gpu opt",
        "communication": "comm",
    }

    def _rows(self) -> tuple[PhaseRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if not self.named:
            return "nothing in the trace names data loading, forward, backward or optimizer"
        wall = sum(row.wall for row in self.rows)
        parts = [(name, sum(getattr(row, name) or 0 for row in self.rows)) for name in (*self.named, "other")]
        listed = ", ".join(f"{name} {f.percent(time, wall)}" for name, time in parts)
        missing = [name for name in PHASES if name not in self.named]
        text = f"{f.count(len(self.rows), 'step')}, on the host: {listed}"
        return f"{text}; not named: {', '.join(missing)}" if missing else text


def phase_times(trace: Trace | View) -> PhaseTimes:
    """Split each step by phase, on the host and on the devices."""
    view = view_of(trace)
    which = _masks(view)
    named = tuple(name for name in PHASES if which[name].any())
    steps = steps_of(view) or ((Step("whole", *view.window),) if view.count else ())
    start = np.array([step.start for step in steps], np.int64)
    end = np.array([step.end for step in steps], np.int64)
    host = _first(which, view, start, end)
    device = _launched(view, which, start, end)
    rows = []
    for index, step in enumerate(steps):
        time = {name: int(host[name][index]) if name in named else None for name in PHASES}
        on = {name: int(device[name][index]) if name in named else None for name in PHASES}
        hosts = (time["loading"], time["forward"], time["backward"], time["optimizer"], int(host["other"][index]))
        rest = int(device["other"][index]) + (on["loading"] or 0)
        devices = (on["forward"], on["backward"], on["optimizer"], rest, int(device["communication"][index]))
        rows.append(PhaseRow(step.name, step.duration, *hosts, *devices))
    return PhaseTimes(tuple(rows) if named else (), named)


def _masks(view: View) -> dict[str, Bools]:
    """The host spans that name each phase."""
    scopes = view.in_categories("annotation", "module", "span") & view.on_kind("thread")
    ops = view.in_categories("op") & view.on_kind("thread")
    called = {
        name: np.array([bool(pattern.search(word)) for word in view.names], dtype=bool)[view.name]
        for name, pattern in _NAMES.items()
    }
    engine = np.isin(view.track, list(callers(view))) & ops
    recorded = np.zeros(view.count, bool)
    rows = np.flatnonzero(ops & ~engine)
    recorded[rows[np.isfinite(arg_numbers(view, rows, "Sequence number"))]] = True
    loads = loading(view)
    return {
        "loading": loads,
        "optimizer": called["optimizer"] & (scopes | ops),
        "backward": engine | (called["backward"] & (scopes | ops)),
        "forward": (called["forward"] & scopes) | (view.in_categories("module") & view.on_kind("thread")) | recorded,
    }


def _first(which: dict[str, Bools], view: View, start: Ints, end: Ints) -> dict[str, Ints]:
    """The time of each window that counts for each phase."""
    spans = {1 << index: np.flatnonzero(which[name]) for index, name in enumerate(PHASES)}
    found = {name: np.zeros(len(start), np.int64) for name in (*PHASES, "other")}
    for mask, time in (
        shares({bit: (view.start[rows], view.end[rows]) for bit, rows in spans.items()}).within(start, end).items()
    ):
        found[PHASES[(mask & -mask).bit_length() - 1] if mask else "other"] += time
    return found


def _launched(view: View, which: dict[str, Bools], start: Ints, end: Ints) -> dict[str, Ints]:
    """The time of the work launched in each window, by the phase that its thread was in."""
    found = {name: np.zeros(len(start), np.int64) for name in (*PHASES, "other", "communication")}
    begin, thread = launches_of(view).begin, launches_of(view).thread
    work = np.flatnonzero((view.bits > 0) & (begin != NEVER))
    step = np.searchsorted(start, begin[work], side="right") - 1
    inside = (step >= 0) & (begin[work] < end[np.maximum(step, 0)]) if len(start) else np.zeros(len(work), bool)
    work, step = work[inside], step[inside]
    kind = np.full(len(work), len(PHASES))
    for track in np.unique(thread[work]).tolist():
        mine = np.flatnonzero(thread[work] == track)
        for index in reversed(range(len(PHASES))):
            rows = np.flatnonzero(which[PHASES[index]] & (view.track == track))
            kind[mine[_covered(view, rows, begin[work[mine]])]] = index
    kind[view.bits[work] == COMMUNICATION] = len(PHASES) + 1
    for index, name in enumerate((*PHASES, "other", "communication")):
        np.add.at(found[name], step[kind == index], view.duration[work[kind == index]])
    return found


def _covered(view: View, rows: Ints, at: Ints) -> Bools:
    """Whether each time lies in one of the spans."""
    if len(rows) == 0:
        return np.zeros(len(at), bool)
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    reach = np.maximum.accumulate(view.end[rows])
    place = np.searchsorted(view.start[rows], at, side="right") - 1
    return (place >= 0) & (at <= reach[np.maximum(place, 0)])
