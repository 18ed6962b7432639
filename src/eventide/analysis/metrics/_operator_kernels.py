"""Which kernels each operator launched, and how that differs between two traces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import COPY, View
from eventide.analysis.metrics._launching_ops import operator_of


@dataclass(frozen=True)
class OperatorDelta:
    """One operator in both traces: the kernels that it launched itself, by time, largest first. Times: nanoseconds."""

    name: str
    a: int
    b: int
    count_a: int
    count_b: int
    kernels_a: tuple[str, ...]
    kernels_b: tuple[str, ...]

    @property
    def difference(self) -> int:
        return self.b - self.a

    @property
    def changed(self) -> bool:
        """Whether it launches other kernels in the second trace; False where one trace has none of it."""
        return bool(self.kernels_a and self.kernels_b) and set(self.kernels_a) != set(self.kernels_b)


Kernels = dict[str, list[tuple[str, int, int]]]  # operator: kernels, their time and count


def operator_deltas(a: View, b: View) -> tuple[OperatorDelta, ...]:
    """Every operator that launched kernels in one of the traces, largest difference first."""
    before, after = _kernels(a), _kernels(b)
    found = []
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, []), after.get(name, [])
        times = (sum(each[1] for each in one), sum(each[1] for each in other))
        counts = (sum(each[2] for each in one), sum(each[2] for each in other))
        kernels = (tuple(each[0] for each in one), tuple(each[0] for each in other))
        found.append(OperatorDelta(name, *times, *counts, *kernels))
    return tuple(sorted(found, key=lambda each: (-abs(each.difference), each.name)))


def _kernels(view: View) -> Kernels:
    """Kernels by operator, each with its time and count; work whose operator is not known is left out."""
    operator = operator_of(view)
    rows = np.flatnonzero((view.bits > 0) & (view.bits != COPY) & (operator >= 0))
    key = view.name[operator[rows]] * len(view.names) + view.name[rows]
    keys, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    time = np.zeros(len(keys), np.int64)
    np.add.at(time, place, view.duration[rows])
    found: Kernels = {}
    order = np.lexsort((keys, -time))
    for each, spent, count in zip(keys[order].tolist(), time[order].tolist(), counts[order].tolist(), strict=True):
        name, kernel = divmod(each, len(view.names))
        found.setdefault(view.names[name], []).append((view.names[kernel], spent, count))
    return found
