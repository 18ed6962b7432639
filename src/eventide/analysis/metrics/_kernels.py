"""Kernels by name: time, occupancy, blocks per multiprocessor, tensor cores, the operators that launched them.

Occupancy and blocks per multiprocessor are what the profiler wrote beside each kernel (Kineto estimates them from the
launch). Means are weighted by time. Whether a kernel uses matrix units follows from its name only: that is inferred.
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
from eventide.analysis._view import COPY, Bools, Ints, View, view_of
from eventide.analysis.metrics._args import Floats, arg_numbers
from eventide.analysis.metrics._launching_ops import operator_of
from eventide.analysis.metrics._step_costs import step_windows
from eventide.trace import Trace

_MATRIX = re.compile(
    r"[a-z_](884|1688|8816|16816|16832|16864|168128|168256)(gemm|fprop|dgrad|wgrad|cudnn|_|\b)|tensorop|gmma"
    r"|hmma|imma|bmma|wmma|nvjet|xmma_(implicit_|sparse_|warp_specialized_)*(gemm|fprop|dgrad|wgrad)|_MI\d+x\d+|mfma"
)
_SIMT = re.compile(r"simt|sgemm_\d|ffma", re.IGNORECASE)
_GPU = re.compile(r"\b(cuda|hip):")
SHORT = 10_000  # ns: a kernel that takes less is not much longer than its launch


@dataclass(frozen=True)
class _Launched:
    """Kernels, with what the profiler wrote beside each; nan where it did not."""

    rows: Ints
    occupancy: Floats
    blocks: Floats
    matrix: Bools

    def at(self, index: Ints | Bools) -> _Launched:
        return _Launched(self.rows[index], self.occupancy[index], self.blocks[index], self.matrix[index])


@dataclass(frozen=True)
class KernelRow:
    """All kernels of one name; times are nanoseconds. None: not recorded."""

    name: str
    category: str  # kernel, or communication
    operator: str | None  # that launched most of its time
    count: int
    total: int
    mean: float
    min: int
    max: int
    short: int  # that took less than 10 us
    occupancy: float | None  # per cent, as estimated by the profiler
    blocks: float | None  # per multiprocessor
    tensor_cores: bool  # inferred from the name


@dataclass(frozen=True)
class DeviceUse:
    """One device, over `wall`: from the first step until the work of the last has ended; without steps the window."""

    device: str
    wall: int
    kernels: int
    busy: int  # at least one kernel ran
    utilization: float  # per cent of that time with a kernel
    sm_efficiency: float | None  # per cent: multiprocessors that had a block, over that time
    occupancy: float | None  # per cent, while kernels ran
    tensor_cores: float | None  # per cent of the kernels' time; inferred from names, of GPUs of NVIDIA and AMD


@dataclass(frozen=True, repr=False)
class Kernels(show.Result):
    """By time, largest first."""

    start: int
    wall: int
    devices: tuple[DeviceUse, ...]
    rows: tuple[KernelRow, ...]
    short: int  # kernels that took less than 10 us
    short_time: int
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "operator": show.text,
        "count": show.number,
        "total": show.time,
        "mean": show.time,
        "short": show.number,
        "occupancy": show.percent,
        "blocks": show.decimal,
        "tensor_cores": show.yes,
    }
    _row: ClassVar[type] = KernelRow
    _heads: ClassVar[Mapping[str, str]] = {"tensor_cores": "tensor", "occupancy": "occup."}

    def _rows(self) -> tuple[KernelRow, ...]:
        return self.rows

    @property
    def count(self) -> int:
        """Kernels, collectives among them."""
        return sum(row.count for row in self.rows)

    def _heading(self) -> str:
        if not self.rows:
            return "the trace has no kernels"
        lines = [f"{f.count(self.count, 'kernel')}, {self.short:,} of them under {f.time(SHORT)}"]
        for use in self.devices:
            text = f"{use.device}: a kernel ran {f.percent(use.busy, use.wall)} of {f.time(use.wall)}"
            if use.sm_efficiency is not None:
                text += f", SM efficiency {use.sm_efficiency:.1f} %"
            if use.occupancy is not None:
                text += f", occupancy {use.occupancy:.1f} %"
            if use.tensor_cores is not None:
                text += f", tensor cores (by name) {use.tensor_cores:.1f} % of the kernels' time"
            lines.append(text)
        return "; ".join([*lines, *([self.absent] if self.absent else [])])


_ABSENT = "occupancy and blocks per multiprocessor are not recorded"


def uses_matrix_units(name: str) -> bool:
    """Whether a kernel's name says that it uses tensor cores, or the matrix cores of AMD."""
    return bool(_MATRIX.search(name)) and not _SIMT.search(name)


def kernels(trace: Trace | View) -> Kernels:
    """Add up kernels by name, and what they used of each device."""
    view = view_of(trace)
    start, end = view.window
    rows = np.flatnonzero((view.bits > 0) & (view.bits != COPY))
    occupancy = arg_numbers(view, rows, "est. achieved occupancy %")
    blocks = arg_numbers(view, rows, "blocks per SM")
    matrix = np.array([uses_matrix_units(name) for name in view.names], dtype=bool)[view.name[rows]]
    every = _Launched(rows, occupancy, blocks, matrix)
    found = _by_name(view, every)
    uses = tuple(
        _use(view, device, every.at(mine))
        for device, tracks in view.devices.items()
        if (mine := np.isin(view.track[rows], tracks)).any()
    )
    brief = view.duration[rows] < SHORT
    unknown = len(rows) > 0 and bool(np.isnan(occupancy).all() and np.isnan(blocks).all())
    short = (int(brief.sum()), int(view.duration[rows[brief]].sum()))
    return Kernels(start, end - start, uses, tuple(found), *short, _ABSENT if unknown else None)


def _by_name(view: View, every: _Launched) -> list[KernelRow]:
    rows = every.rows
    operator = operator_of(view)
    key = view.name[rows] * len(view.categories) + view.category[rows]
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    found = []
    for mine in np.split(order, cuts) if len(order) else []:
        chosen = rows[mine]
        length = view.duration[chosen]
        found.append(
            KernelRow(
                view.word(int(chosen[0])),
                view.category_of(int(chosen[0])),
                _main_operator(view, operator[chosen], length),
                len(chosen),
                int(length.sum()),
                float(length.mean()),
                int(length.min()),
                int(length.max()),
                int((length < SHORT).sum()),
                weighted(every.occupancy[mine], length),
                weighted(every.blocks[mine], length),
                bool(every.matrix[mine[0]]),
            )
        )
    return sorted(found, key=lambda row: (-row.total, row.name))


def _main_operator(view: View, operator: Ints, length: Ints) -> str | None:
    known = operator >= 0
    if not known.any():
        return None
    names, place = np.unique(view.name[operator[known]], return_inverse=True)
    return view.names[int(names[np.bincount(place, weights=length[known]).argmax()])]


def weighted(values: Floats, weights: Ints) -> float | None:
    """The mean of the values that are known; None if none is, or if they took no time."""
    known = ~np.isnan(values)
    whole = int(weights[known].sum())
    return float((values[known] * weights[known]).sum() / whole) if whole else None


def _use(view: View, device: str, mine: _Launched) -> DeviceUse:
    rows, matrix = mine.rows, mine.matrix
    _, starts, ends = step_windows(view)
    start, end = starts.min(keepdims=True), ends.max(keepdims=True)
    wall, length = int(end[0] - start[0]), view.duration[rows]
    busy = int(shares({1: (view.start[rows], view.end[rows])}).within(start, end).get(1, np.zeros(1, np.int64)).sum())
    share = _multiprocessors(view, mine, start, end)
    return DeviceUse(
        device,
        wall,
        len(rows),
        busy,
        100 * busy / wall if wall else 0.0,
        None if share is None or not wall else 100 * share / wall,
        weighted(mine.occupancy, length),
        float(100 * length[matrix].sum() / length.sum()) if length.sum() and _GPU.search(device) else None,
    )


def _multiprocessors(view: View, mine: _Launched, start: Ints, end: Ints) -> float | None:
    """Time in the windows times the share of multiprocessors with a block; kernels at one time fill them together.

    None unless it is recorded for every kernel.
    """
    rows, blocks = mine.rows, mine.blocks
    if len(rows) == 0 or np.isnan(blocks).any():
        return None
    time = np.concatenate((view.end[rows], view.start[rows]))
    order = np.argsort(time, kind="stable")
    time = time[order]
    level = np.clip(np.cumsum(np.concatenate((-blocks, blocks))[order])[:-1], 0, 1)
    filled = np.concatenate(([0.0], np.cumsum(level * np.diff(time))))  # until each time; linear in between
    origin = time[0]
    until = [np.interp(at - origin, time - origin, filled) for at in (start, end)]
    return float((until[1] - until[0]).sum())
