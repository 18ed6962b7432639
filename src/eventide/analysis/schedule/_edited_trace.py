"""The trace of an edited schedule: every row at its new time, so that each viewer and each analysis opens it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eventide.analysis._view import Bools, Ints, integers
from eventide.analysis.schedule._draft import Draft
from eventide.analysis.schedule._replay import HostClock
from eventide.analysis.schedule._schedule import Schedule
from eventide.trace import Trace


def edited_trace(draft: Draft, times: Schedule, notes: list[str]) -> Trace:
    """Spans, instants, counters, edges and operations moved; removed work is left out."""
    view = draft.view
    clock = _Clock(draft, times)
    start, end = clock.spans()
    keep = np.ones(view.count, bool)
    keep[draft.rows[draft.removed]] = False
    spans = _spans(draft, clock, start, end).filter(pa.array(keep))
    trace = view.trace
    tables = {
        "tracks": _tracks(draft),
        "spans": spans,
        "edges": _edges(draft, clock, start, end, keep),
        "instants": _timed(trace.instants, clock),
        "counters": _timed(trace.counters, clock),
        "operations": _operations(trace.operations, clock, draft),
    }
    return trace.replace({"edits": notes}, **tables)


class _Clock:
    """Recorded times in the new schedule: of threads, and of streams between and within their work."""

    def __init__(self, draft: Draft, times: Schedule) -> None:
        self._draft, self._view = draft, draft.view
        self._host = HostClock(draft.model.network, times)
        self.start = times.start[draft.hosts : draft.hosts + len(draft.rows)]
        self.end = times.end[draft.hosts : draft.hosts + len(draft.rows)]
        self._of_stream: dict[int, tuple[Ints, Ints]] = {}

    def moved(self, track: int, at: Ints) -> Ints:
        if 0 <= track < len(self._view.track_kind) and self._view.track_kind[track] == "stream":
            old, new = self._stream(track)
            if len(old):
                place = np.interp(at, old, new - old[0])
                inside = np.rint(place).astype(np.int64) + old[0]
                found: Ints = np.where(at > old[-1], at - old[-1] + new[-1], inside)
                return found
        return self._host.moved(track, at)

    def _stream(self, track: int) -> tuple[Ints, Ints]:
        """Starts and ends of the work of a stream, before and after; both rise."""
        if track not in self._of_stream:
            mine = np.flatnonzero(self._view.track[self._draft.rows] == track)
            rows = self._draft.rows[mine]
            old = np.concatenate((self._view.start[rows], self._view.end[rows]))
            new = np.concatenate((self.start[mine], self.end[mine]))
            order = np.lexsort((new, old))
            self._of_stream[track] = old[order], np.maximum.accumulate(new[order]) if len(mine) else new
        return self._of_stream[track]

    def each(self, track: Ints, at: Ints) -> Ints:
        """Many times, each of its track; those without a track are the main thread's."""
        found = at.copy()
        for one in np.unique(track).tolist():
            mine = track == one
            found[mine] = self.moved(one, at[mine])
        return found

    def spans(self) -> tuple[Ints, Ints]:
        view = self._view
        start, end = self.each(view.track, view.start), self.each(view.track, view.end)
        start[self._draft.rows], end[self._draft.rows] = self.start, self.end
        return start, np.maximum(start, end)


def _tracks(draft: Draft) -> pa.Table:
    table = draft.view.trace.tracks
    more = []
    for number, beside in enumerate(draft.new_streams):
        base = beside
        while base >= len(draft.view.track_kind):
            base = draft.new_streams[base - len(draft.view.track_kind)]
        row = table.slice(base, 1).to_pylist()[0]
        used = [stream for stream in draft.view.track_stream if stream is not None]
        more.append(
            {
                **row,
                "stream": max(used, default=0) + 1 + number,
                "name": f"stream {max(used, default=0) + 1 + number} (what if)",
            }
        )
    return pa.concat_tables([table, pa.Table.from_pylist(more, schema=table.schema)]) if more else table


def _spans(draft: Draft, clock: _Clock, start: Ints, end: Ints) -> pa.Table:
    view = draft.view
    spans = view.trace.spans
    track = view.track.copy()
    track[draft.rows] = draft.track
    submit = spans.column("submit")
    asked = clock.each(np.full(view.count, -1, np.int64), integers(submit, 0))
    changes = {
        "track": pa.array(track.astype(np.int32)),
        "start": pa.array(start),
        "duration": pa.array(end - start, mask=view.unfinished),
        "submit": pa.array(asked, mask=np.asarray(submit.is_null())),
    }
    return _with(spans, changes)


def _with(table: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        field = table.schema.field(name)
        table = table.set_column(table.schema.get_field_index(name), field, column.cast(field.type))
    return table


def _edges(draft: Draft, clock: _Clock, start: Ints, end: Ints, keep: Bools) -> pa.Table:
    view = draft.view
    on = view.track.copy()
    on[draft.rows] = draft.track
    table = view.trace.edges
    renumbered = np.cumsum(keep) - 1
    changes = {}
    alive = np.ones(table.num_rows, bool)
    for side in ("from", "to"):
        span = integers(table.column(f"{side}_span"))
        at = integers(table.column(f"{side}_time"), 0)
        track = integers(table.column(f"{side}_track"))
        known = (span >= 0) & (span < view.count)
        row = np.where(known, span, 0)
        moved = clock.each(track, at)
        if view.count:
            moved = np.where(known & (at == view.start[row]), start[row], moved)
            moved = np.where(known & (at == view.end[row]), end[row], moved)
            alive &= ~known | keep[row]
            new = np.where(known, on[row], track)
            changes[f"{side}_track"] = pa.array(np.maximum(new, 0).astype(np.int32), mask=new < 0)
            changes[f"{side}_span"] = pa.array(np.where(known, renumbered[row], 0), mask=~known)
        changes[f"{side}_time"] = pa.array(moved)
    return _with(table, changes).filter(pa.array(alive))


def _timed(table: pa.Table, clock: _Clock) -> pa.Table:
    if table.num_rows == 0:
        return table
    moved = clock.each(integers(table.column("track")), integers(table.column("time"), 0))
    return _with(table, {"time": pa.array(moved)})


def _operations(table: pa.Table, clock: _Clock, draft: Draft) -> pa.Table:
    """Hook records of host threads."""
    if table.num_rows == 0:
        return table
    tids = {tid: track for track, tid in enumerate(draft.view.track_tid) if tid is not None}
    thread = integers(table.column("thread"))
    track = np.array([tids.get(tid, -1) for tid in thread.tolist()], np.int64)
    moved = clock.each(track, integers(table.column("time"), 0))
    return _with(table, {"time": pa.array(moved)})
