"""Whether the edited order is still correct: the sanitizer judges the edited hook records, where accesses are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eventide.analysis._view import Bools, Ints, View, codes, integers
from eventide.analysis.schedule._draft import Draft
from eventide.analysis.schedule._edits import Edit, compiled, named
from eventide.sanitizer import Finding, check_trace

_SYNCS = ("stream_synchronization", "event_synchronization", "device_synchronization")


@dataclass(frozen=True)
class Verdict:
    """`races` are those that the edit makes: one line each. `known` of `works` had known accesses."""

    races: tuple[str, ...]
    known: int
    works: int

    def __str__(self) -> str:
        if self.races:
            more = f"; and {len(self.races) - 1} more" if len(self.races) > 1 else ""
            return f"the edit makes a {self.races[0]}{more}"
        if self.known < self.works:
            return f"no race among the {self.known} of {self.works} work items with known accesses"
        return "no race"


def verdict_of(view: View, draft: Draft, edits: Sequence[Edit]) -> Verdict | None:
    """None where no accesses are known, or the edits do not change the order."""
    operations = view.trace.operations
    if operations.num_rows == 0 or not any(edit.kind in _ORDERING for edit in edits):
        return None
    if operations.column("accesses").null_count == operations.num_rows:
        return None
    before = check_trace(view.trace)
    after = check_trace(view.trace.replace(operations=_edited(view, draft, edits)))
    if after.coverage.known == 0:
        return None
    old = {each.fingerprint for each in before.faults}
    races = [_words(each) for each in after.faults if each.fingerprint not in old]
    return Verdict(tuple(races), after.coverage.known, after.coverage.works)


def _words(finding: Finding) -> str:
    """One line: what kind, and both sides."""
    sides = [side for side in (finding.first, finding.second) if side is not None]
    return f"{finding.kind}: {' and '.join(repr(side.name or side.what) for side in sides)}"


_ORDERING = ("drop_wait", "drop_sync", "move", "add_streams", "overlap", "remove")


def _edited(view: View, draft: Draft, edits: Sequence[Edit]) -> pa.Table:
    """Without what was dropped or removed, and with moved work on its stream."""
    table = view.trace.operations
    hook, words = codes(table.column("hook"))
    work = integers(table.column("work"))
    keep = np.ones(table.num_rows, bool)
    keep[np.isin(work, _work_ids(view, draft.rows[draft.removed]))] = False
    for edit in edits:
        if edit.kind == "drop_wait":
            keep &= ~_waits_before(view, table, edit.pattern)
        elif edit.kind == "drop_sync":
            gone = [n for n, word in enumerate(words) if word in _SYNCS and _selects(word, edit.pattern)]
            keep &= ~np.isin(hook, gone)
    stream = integers(table.column("stream")).copy()
    moved = draft.track != view.track[draft.rows]
    for identity, track in zip(_work_ids(view, draft.rows[moved]).tolist(), draft.track[moved].tolist(), strict=True):
        stream[work == identity] = _stream_id(view, track)
    column = pa.array(stream, pa.int64(), mask=np.asarray(table.column("stream").is_null()))
    return table.set_column(table.schema.get_field_index("stream"), table.schema.field("stream"), column).filter(
        pa.array(keep)
    )


def _work_ids(view: View, rows: Ints) -> Ints:
    return integers(view.trace.spans.column("work"))[rows]


def _stream_id(view: View, track: int) -> int:
    if track < len(view.track_stream):
        return view.track_stream[track] or 0
    used = [stream for stream in view.track_stream if stream is not None]
    return max(used, default=0) + 1 + track - len(view.track_kind)


def _selects(word: str, pattern: str) -> bool:
    return bool(compiled(pattern).fullmatch(word))


def _waits_before(view: View, table: pa.Table, pattern: str) -> Bools:
    """Waits of a stream whose next work on it matches."""
    hook, words = codes(table.column("hook"))
    stream, work = integers(table.column("stream")), integers(table.column("work"))
    wanted = set(_work_ids(view, np.flatnonzero(named(view, pattern)[view.name] & (view.bits > 0))).tolist())
    found = np.zeros(table.num_rows, bool)
    next_work: dict[int, int] = {}
    for n in range(table.num_rows - 1, -1, -1):
        word = words[int(hook[n])]
        if word == "work_submission":
            next_work[int(stream[n])] = int(work[n])
        elif word == "event_wait":
            found[n] = next_work.get(int(stream[n]), -1) in wanted
    return found


__all__ = ["Verdict", "verdict_of"]
