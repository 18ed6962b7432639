"""The hook records of an edited run: without what was dropped or removed, and with moved work on its stream.

The edited schedule keeps what a moved work waits for and what waits for it. So a wait moves with the work behind it,
and a record or a synchronization of a stream with the work before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eventide.analysis._view import Bools, Ints, View, codes, integers
from eventide.analysis.schedule._draft import Draft
from eventide.analysis.schedule._edits import Edit, compiled, from_line, named, works_matching

_SYNCS = ("stream_synchronization", "event_synchronization", "device_synchronization")


def edited_operations(draft: Draft, edits: Sequence[Edit]) -> pa.Table:
    """The operations of the draft's trace with the edits."""
    view, records = draft.view, _Records(draft.view)
    keep = ~np.isin(records.work, _work_ids(view, draft.rows[draft.removed]))
    for edit in edits:
        keep &= ~records.dropped(edit, draft.rows)
    moved = np.flatnonzero(draft.track != view.track[draft.rows])
    new = [_stream_id(view, track) for track in draft.track[moved].tolist()]
    streams = dict(zip(_work_ids(view, draft.rows[moved]).tolist(), new, strict=True))
    table = view.trace.operations
    place, field = table.schema.get_field_index("stream"), table.schema.field("stream")
    column = pa.array(records.moved(streams), pa.int64(), mask=np.asarray(table.column("stream").is_null()))
    return table.set_column(place, field, column).filter(pa.array(keep))


class _Records:
    """Columns of the operations; `before` and `behind` are the works that a wait, record or synchronization is between.

    `before`: the last work on its stream, of a wait the one that its event covers. `behind`: the next on its stream.
    """

    def __init__(self, view: View) -> None:
        table = view.trace.operations
        self._view = view
        self._hook, self._words = codes(table.column("hook"))
        self.work, self._stream = (integers(table.column(name)) for name in ("work", "stream"))
        self._thread, self._time = integers(table.column("thread")), integers(table.column("time"), 0)
        self._stack = integers(table.column("stack"))
        self._before, self._behind = self._neighbours(table)

    def _is(self, *words: str) -> Bools:
        found: Bools = np.isin(self._hook, [n for n, word in enumerate(self._words) if word in words])
        return found

    def _neighbours(self, table: pa.Table) -> tuple[Ints, Ints]:
        event, version = (integers(table.column(name)).tolist() for name in ("event", "version"))
        before, behind = np.full(len(self.work), -1, np.int64), np.full(len(self.work), -1, np.int64)
        submits, waits, records = (self._is(word) for word in ("work_submission", "event_wait", "event_record"))
        rows = np.flatnonzero(submits | waits | records | self._is("stream_synchronization")).tolist()
        streams, works = self._stream.tolist(), self.work.tolist()
        last: dict[int, int] = {}
        covered: dict[tuple[int, int], int] = {}
        for n in rows:
            if submits[n]:
                last[streams[n]] = works[n]
            elif waits[n]:
                before[n] = covered.get((event[n], version[n]), -1)
            else:
                before[n] = last.get(streams[n], -1)
                if records[n]:
                    covered[event[n], version[n]] = int(before[n])
        last.clear()
        for n in reversed(rows):
            if submits[n]:
                last[streams[n]] = works[n]
            elif waits[n]:
                behind[n] = last.get(streams[n], -1)
        return before, behind

    def dropped(self, edit: Edit, rows: Ints) -> Bools:
        """The waits and synchronizations that the edit leaves out."""
        waits = self._is("event_wait")
        if edit.kind == "drop_wait":
            return waits & self._of(self._behind, edit.pattern)
        if edit.kind == "overlap":
            one, other = edit.pattern, edit.other
            there = self._of(self._before, one) & self._of(self._behind, other)
            return waits & (there | (self._of(self._before, other) & self._of(self._behind, one)))
        if edit.kind == "drop_sync":
            chosen = self._is(*(word for word in _SYNCS if compiled(edit.pattern).fullmatch(word)))
            return chosen if chosen.any() else self._is(*_SYNCS) & from_line(self._view, self._stack, edit.pattern)
        if edit.kind == "remove" and len(works_matching(self._view, rows, edit.pattern)) == 0:
            return self._is(*_SYNCS) & self._inside(edit.pattern)
        return np.zeros(len(waits), bool)

    def _of(self, works: Ints, pattern: str) -> Bools:
        """Whether each is a work that the pattern selects."""
        view = self._view
        rows = np.flatnonzero(named(view, pattern)[view.name] & (view.bits > 0))
        found: Bools = (works >= 0) & np.isin(works, _work_ids(view, rows))
        return found

    def _inside(self, pattern: str) -> Bools:
        """Whether each was made in a host span that the pattern selects."""
        view, found = self._view, np.zeros(len(self._time), bool)
        for row in np.flatnonzero(named(view, pattern)[view.name] & view.on_kind("thread")).tolist():
            mine = self._thread == view.track_tid[view.track[row]]
            found |= mine & (self._time >= view.start[row]) & (self._time <= view.end[row])
        return found

    def moved(self, streams: dict[int, int]) -> Ints:
        """The stream of each record, where these works are on these streams."""
        carrier = np.where(self.work >= 0, self.work, np.where(self._is("event_wait"), self._behind, self._before))
        if not streams:
            return self._stream
        works = np.array(sorted(streams), np.int64)
        place = np.minimum(np.searchsorted(works, carrier), len(works) - 1)
        new = np.array([streams[work] for work in works.tolist()], np.int64)
        return np.where(works[place] == carrier, new[place], self._stream)


def _work_ids(view: View, rows: Ints) -> Ints:
    return integers(view.trace.spans.column("work"))[rows]


def _stream_id(view: View, track: int) -> int:
    if track < len(view.track_stream):
        return view.track_stream[track] or 0
    used = [stream for stream in view.track_stream if stream is not None]
    return max(used, default=0) + 1 + track - len(view.track_kind)
