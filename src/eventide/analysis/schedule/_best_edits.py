"""The edits that are worth most, by search: every candidate that the trace suggests is replayed, and the best remain.

Candidates come from what the run waits for: the names on its binding path, the calls that block, the copies, the
collectives, and work that is launched in long rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import launches_of
from eventide.analysis._view import COMMUNICATION, COPY, Ints, View, line_of, view_of
from eventide.analysis.schedule import _dependencies as deps
from eventide.analysis.schedule._apply import apply_edits
from eventide.analysis.schedule._draft import draft_of
from eventide.analysis.schedule._edits import Edit, drop_sync, drop_wait, from_line, fuse, move, named, overlap, scale
from eventide.analysis.schedule._interval import finish
from eventide.analysis.schedule._replay import Model, lines_of, model_of, warnings_of
from eventide.analysis.schedule._what_if import WhatIf, limits_of, unexplained_of, what_if
from eventide.errors import UsageTypeError, UsageValueError
from eventide.trace import Trace

_PER_KIND = 8  # candidates of one kind
_LEAST = 0.002  # of the time: less is not worth an edit
_ROW = 4  # works of one name in a row that are worth fusing


@dataclass(frozen=True)
class BestEdit:
    """One edit: what is done to what; `call` does it. `saved` lies between `low` and `high`.

    `line` is the program's, where the trace has stacks.
    """

    edit: str
    name: str
    saved: int
    low: int
    high: int
    at_best: bool
    line: str | None
    call: str
    order: str | None  # the sanitizer's verdict on the edited order; None: the edit does not change it


@dataclass(frozen=True, repr=False)
class BestEdits(show.Result):
    """`tried` candidates were replayed. `rows` is empty where the model's error is larger than every gain.

    `races` are edits that save as much and that the sanitizer forbids: no recommendations.
    """

    wall: int
    unexplained: float
    tried: int
    rows: tuple[BestEdit, ...]
    races: tuple[BestEdit, ...]
    refused: str | None
    warnings: tuple[str, ...]  # of the trace

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "edit": show.text,
        "name": show.text,
        "saved": show.time,
        "low": show.time,
        "high": show.time,
        "at_best": show.yes,
        "line": show.text,
        "order": show.text,
    }
    _row: ClassVar[type] = BestEdit

    def _rows(self) -> tuple[BestEdit, ...]:
        return self.rows

    def _heading(self) -> str:
        return "\n".join([self._found(), *lines_of(self.warnings)])

    def _found(self) -> str:
        if self.refused:
            return self.refused
        unsafe = "".join(
            f"\n  left out: {each.call} saves {f.time(each.saved)}, but {each.order}" for each in self.races
        )
        if not self.rows:
            return f"none of {f.count(self.tried, 'edit')} saves {100 * _LEAST:g} % of {f.time(self.wall)}{unsafe}"
        return f"the best of {f.count(self.tried, 'edit')}, each alone, of {f.time(self.wall)}{unsafe}"


def best_edits(trace: Trace | View, count: int = 10) -> BestEdits:
    """Search for the edits that save most."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise UsageTypeError(f"count must be an int, not {type(count).__name__}")
    if count < 1:
        raise UsageValueError(f"count must be at least 1, not {count}")
    view = view_of(trace)
    model = model_of(view)
    before = finish(draft_of(model))
    wall = what_if(view).wall
    found: dict[Edit, int] = {}
    for edit in _candidates(model):
        draft = draft_of(model)
        try:
            apply_edits(draft, [edit])
            found[edit] = before - finish(draft)
        except UsageValueError:
            continue  # it has nothing to change
    unexplained = unexplained_of(model)
    gains = {edit: gain for edit, gain in found.items() if gain > _LEAST * wall}
    refused = None
    if gains and max(gains.values()) <= unexplained * wall:
        best = f.time(max(gains.values()))
        refused = f"the model does not explain {100 * unexplained:.2f} % of the time, more than any edit saves ({best})"
        gains = {}
    top = [edit for edit in sorted(gains, key=lambda each: -gains[each]) if gains[edit] > unexplained * wall]
    rows: list[BestEdit] = []
    races: list[BestEdit] = []
    for edit in top:
        result = what_if(view, edit)
        racy = result.verdict is not None and bool(result.verdict.races)
        (races if racy else rows).append(_row(view, edit, result))
        if len(rows) == count:
            break
    return BestEdits(wall, unexplained, len(found), tuple(rows), tuple(races), refused, warnings_of(view))


def _row(view: View, edit: Edit, found: WhatIf) -> BestEdit:
    order = str(found.verdict) if found.verdict is not None else None
    low, high = found.wall - found.high, found.wall - found.low
    words = f"{edit.kind} {edit.factor:g}" if edit.kind == "scale" else edit.kind
    line = _line(view, edit)
    return BestEdit(words, edit.pattern, found.saved, low, high, bool(found.at_best), line, str(edit), order)


def _line(view: View, edit: Edit) -> str | None:
    """Where the program requests the first thing that the edit changes."""
    rows = np.flatnonzero(named(view, edit.pattern)[view.name]) if view.count else np.empty(0, np.int64)
    if len(rows) == 0 and edit.kind == "drop_sync":
        rows = np.flatnonzero(from_line(view, view.stack, edit.pattern))
    for row in rows[:_PER_KIND].tolist():
        call = int(launches_of(view).call[row])
        for each in (row, call):
            found = line_of(view, int(view.stack[each])) if each >= 0 else None
            if found is not None:
                return found
    return None


def _candidates(model: Model) -> Iterator[Edit]:
    view, draft = model.view, draft_of(model)
    rows = model.network.graph.rows
    for limit in limits_of(draft, model.schedule, 2 * _PER_KIND):
        if limit.name in view.names:
            yield scale(limit.name, 0.5)
    for name in _most(view, rows):
        yield scale(name, 0.5)
    links = model.network.links
    blocked = model.network.row[links.target[links.kind == deps.SYNC]]
    yield drop_sync()
    calls = _most(view, np.unique(blocked[blocked >= 0]))
    for name in calls if len(calls) > 1 else ():
        yield drop_sync(name)
    places = _lines(view, blocked[blocked >= 0])
    for place in places if len(places) > 1 else ():
        yield drop_sync(place)
    yield drop_wait()
    for name in _most(view, rows[view.bits[rows] == COPY]):
        yield move(name, "new")
    for name in _most(view, rows[view.bits[rows] == COMMUNICATION]):
        yield overlap(name, "*")
    for name in _in_rows(view):
        yield fuse(name)
    yield fuse("*")


def _most(view: View, rows: Ints) -> list[str]:
    """The names with the most time among these spans."""
    if len(rows) == 0:
        return []
    time = np.bincount(view.name[rows], weights=view.duration[rows], minlength=len(view.names))
    return [view.names[name] for name in np.argsort(-time, kind="stable")[:_PER_KIND].tolist() if time[name] > 0]


def _lines(view: View, rows: Ints) -> list[str]:
    """The lines of the program that make these calls, those with the most time first."""
    rows = np.unique(rows)
    stacks, place = np.unique(view.stack[rows], return_inverse=True)
    time: dict[str, float] = {}
    for stack, total in zip(stacks.tolist(), np.bincount(place, weights=view.duration[rows]).tolist(), strict=True):
        line = line_of(view, stack)
        if line is not None:
            time[line] = time.get(line, 0) + total
    return sorted(time, key=lambda line: -time[line])[:_PER_KIND]


def _in_rows(view: View) -> list[str]:
    """Names of which several follow each other on a stream, those with the most works first."""
    count = np.zeros(len(view.names), np.int64)
    for rows in view.work_by_track.values():
        names = view.name[rows]
        cuts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
        lengths = np.diff(np.append(cuts, len(names)))
        long = lengths >= _ROW
        np.add.at(count, names[cuts[long]], lengths[long])
    return [view.names[name] for name in np.argsort(-count, kind="stable")[:_PER_KIND].tolist() if count[name]]
