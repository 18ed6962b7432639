"""Hardware counters of CUPTI ranges: Kineto writes one for each kernel, or one around all, with metrics as fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._view import COPY, Ints, View, json_of, view_of
from eventide.analysis.metrics._launching_ops import operator_of
from eventide.trace import Trace

_METRIC = re.compile(r"^[a-z0-9_]+__[a-z0-9_.]+$")
_HOLDS = r'"[a-z0-9_]+__[a-z0-9_.]+"\s*:\s*-?[0-9]'


@dataclass(frozen=True)
class RangeRow:
    """One metric of all ranges of one name."""

    name: str
    operator: str | None  # that launched the kernel of each range; None where ranges are not one a kernel
    metric: str
    count: int
    total: float
    mean: float


@dataclass(frozen=True, repr=False)
class CounterRanges(show.Result):
    """By metric, largest total first."""

    ranges: int
    by_kernel: bool  # each range is one kernel: there are as many, in the same order
    rows: tuple[RangeRow, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "metric": show.text,
        "name": show.text,
        "operator": show.text,
        "count": show.number,
        "total": show.decimal,
        "mean": show.decimal,
    }
    _row: ClassVar[type] = RangeRow

    def _rows(self) -> tuple[RangeRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if not self.ranges:
            return "the trace has no ranges with hardware counters (Kineto: CUPTI_PROFILER_METRICS)"
        kernels = "one a kernel" if self.by_kernel else "not one a kernel, so their operators are not known"
        return (
            f"{f.count(self.ranges, 'range')} with {f.count(len({r.metric for r in self.rows}), 'metric')}, {kernels}"
        )


def counter_ranges(trace: Trace | View) -> CounterRanges:
    """Add up each metric by range."""
    view = view_of(trace)
    args = view.trace.spans.column("args")
    candidates = np.flatnonzero(view.in_categories("annotation", "other"))
    holds = pc.match_substring_regex(args.take(pa.array(candidates)), _HOLDS)
    rows = candidates[pc.fill_null(holds, False).to_numpy()]
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    operators = _operators(view, rows)
    groups: dict[tuple[str, str, str | None], list[float]] = {}
    for row, operator in zip(rows.tolist(), operators or [None] * len(rows), strict=True):
        for metric, value in _metrics(json_of(args[row].as_py())).items():
            groups.setdefault((metric, view.word(row), operator), []).append(value)
    found = [
        RangeRow(name, operator, metric, len(values), sum(values), sum(values) / len(values))
        for (metric, name, operator), values in groups.items()
    ]
    found.sort(key=lambda row: (row.metric, -row.total, row.name))
    return CounterRanges(len(rows), operators is not None and len(rows) > 0, tuple(found))


def _metrics(args: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in args.items() if _METRIC.match(key) and isinstance(value, int | float)}


def _operators(view: View, rows: Ints) -> list[str | None] | None:
    """The operator of the kernel of each range; None where there are not as many kernels as ranges."""
    kernels = np.flatnonzero((view.bits > 0) & (view.bits != COPY))
    if len(kernels) != len(rows):
        return None
    kernels = kernels[np.argsort(view.start[kernels], kind="stable")]
    operator = operator_of(view)[kernels]
    return [view.word(row) if row >= 0 else None for row in operator.tolist()]
