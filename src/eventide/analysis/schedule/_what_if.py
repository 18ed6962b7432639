"""What would make it faster: the schedule of the edited dependency graph, beside the recorded run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._view import View, steps_of, view_of
from eventide.analysis.schedule._apply import apply_edits
from eventide.analysis.schedule._dependencies import KINDS
from eventide.analysis.schedule._draft import Draft, draft_of
from eventide.analysis.schedule._edited_trace import edited_trace
from eventide.analysis.schedule._edits import Edit
from eventide.analysis.schedule._interval import Reason, reasons_of
from eventide.analysis.schedule._order_check import Verdict, verdict_of
from eventide.analysis.schedule._replay import HostClock, Model, finish_of, lengths_of, lines_of, model_of, warnings_of
from eventide.analysis.schedule._schedule import Schedule
from eventide.errors import UsageTypeError
from eventide.trace import Trace

_NEXT = 5


@dataclass(frozen=True)
class Critical:
    """What the edited run waits for: the time of one name on its critical path."""

    name: str
    kind: str  # "host", or of the device's work what bound it: stream, launch, wait, ...
    count: int
    time: int


@dataclass(frozen=True)
class WhatIfRow:
    """The whole trace, or a step."""

    name: str
    recorded: int
    predicted: int


@dataclass(frozen=True, repr=False)
class WhatIf(show.Result):
    """A prediction. The truth lies between `low` and `high`, if nothing makes it `at_best`; `reasons` says why so far.

    `trace` is the edited run. `verdict` is the sanitizer's: None where the edits do not change the order.
    """

    edits: tuple[str, ...]
    wall: int
    predicted: int
    low: int
    high: int
    at_best: tuple[str, ...]  # what the trace cannot show, and the edit depends on; empty: nothing
    rows: tuple[WhatIfRow, ...]
    next: tuple[Critical, ...]  # what becomes critical
    reasons: tuple[Reason, ...]
    unexplained: float  # share of the time that the unedited replay misses
    verdict: Verdict | None
    warnings: tuple[str, ...]  # of the recorded trace
    trace: Trace = field(repr=False, compare=False)

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "recorded": show.time,
        "predicted": show.time,
    }
    _row: ClassVar[type] = WhatIfRow

    @property
    def saved(self) -> int:
        """Negative: it takes longer."""
        return self.wall - self.predicted

    def _rows(self) -> tuple[WhatIfRow, ...]:
        return self.rows

    def _heading(self) -> str:
        best = "at best " if self.at_best else ""
        change = f"{f.time(abs(self.saved))} {'less' if self.saved >= 0 else 'more'}"
        said = f"{f.time(self.wall)} becomes {best}{f.time(self.predicted)}, {change}"
        lines = [f"{said}; between {f.time(self.low)} and {f.time(self.high)}"]
        lines += [f"  edit: {edit}" for edit in self.edits]
        lines += [f"  at best: {text}" for text in self.at_best]
        lines += [f"  interval: {each.text} (-{f.time(each.low)}, +{f.time(each.high)})" for each in self.reasons]
        lines += [f"  then critical: {each.name} ({each.kind}), {f.time(each.time)}" for each in self.next]
        if self.verdict is not None:
            lines.append(f"  order: {self.verdict}")
        return "\n".join([*lines, *lines_of(self.warnings)])


def what_if(trace: Trace | View, *edits: Edit) -> WhatIf:
    """Predict the run with these edits, all of them applied in order."""
    for edit in edits:
        if not isinstance(edit, Edit):
            raise UsageTypeError(f"an edit must be made by eventide.analysis.scale(...) or the like, not {edit!r}")
    view = view_of(trace)
    model = model_of(view)
    draft = draft_of(model)
    apply_edits(draft, edits)
    times = draft.schedule()
    begin = view.window[0]
    wall = finish_of(model.network, model.network.until) - begin
    gain = finish_of(model.network, model.schedule.end) - finish_of(model.network, times.end)
    predicted = max(wall - gain, 0)
    reasons = reasons_of(model, edits, gain, predicted)
    notes = list(dict.fromkeys(draft.notes))
    # The widest of each side is not added to the others: they are bounds of the same prediction.
    low = predicted - _width([each.low for each in reasons])
    high = predicted + _width([each.high for each in reasons])
    return WhatIf(
        tuple(notes), wall, predicted, max(low, 0), high, tuple(dict.fromkeys(draft.at_best)),
        _rows_of(model, times, wall, predicted), limits_of(draft, times), tuple(reasons), unexplained_of(model),
        verdict_of(draft, edits), warnings_of(view), Trace.later(lambda: edited_trace(draft, times, notes)),
    )  # fmt: skip


def _width(parts: Sequence[int]) -> int:
    """Independent causes: the root of the sum of squares."""
    return round(float(np.sqrt(sum(float(part) ** 2 for part in parts))))


def unexplained_of(model: Model) -> float:
    """By how much of the recorded time the unedited replay is off."""
    network = model.network
    begin = network.view.window[0]
    recorded = finish_of(network, network.until) - begin
    return abs(finish_of(network, model.schedule.end) - begin - recorded) / recorded if recorded else 0.0


def _rows_of(model: Model, times: Schedule, wall: int, predicted: int) -> tuple[WhatIfRow, ...]:
    """Steps: their recorded length, less what the edit saves in the replay."""
    view = model.view
    steps = steps_of(view)
    before = lengths_of(view, steps, HostClock(model.network, model.schedule))
    after = lengths_of(view, steps, HostClock(model.network, times))
    rows = [WhatIfRow("trace", wall, predicted)]
    for step, old, new in zip(steps, before, after, strict=True):
        rows.append(WhatIfRow(step.name, step.duration, max(step.duration - old + new, 0)))
    return tuple(rows)


def limits_of(draft: Draft, times: Schedule, most: int = _NEXT) -> tuple[Critical, ...]:
    """Back from the end along the edges that bind: the names with the most time."""
    network, view = draft.model.network, draft.view
    if len(times.end) <= 1:
        return ()
    hosts = network.hosts
    works = np.arange(hosts, network.origin)
    lines = network.graph.lines
    ends = [*works.tolist(), *([lines.last[lines.main]] if lines.main in lines.last else [])]
    node = max(ends, key=lambda each: int(times.end[each]), default=-1)
    found: dict[tuple[str, str], list[int]] = {}
    binding, source = times.binding.tolist(), draft.source
    while node >= 0:
        edge = binding[node]
        row = int(network.row[node])
        length = int(times.end[node] - times.start[node])
        kind = "host" if node < hosts else KINDS[int(draft.kind[edge])] if edge >= 0 else "unknown"
        if length:
            cell = found.setdefault((view.word(row) if row >= 0 else "unrecorded host", kind), [0, 0])
            cell[0], cell[1] = cell[0] + 1, cell[1] + length
        node = int(source[edge]) if edge >= 0 else -1
    top = sorted(found.items(), key=lambda item: -item[1][1])[:most]
    return tuple(Critical(name, kind, count, time) for (name, kind), (count, time) in top)
