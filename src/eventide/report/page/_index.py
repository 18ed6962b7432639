"""The index of a page: tracks, names, steps, idle time, critical path and counters on the clock of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide._util import html_text
from eventide.analysis import CAUSES, View, idle
from eventide.report._gather import Report
from eventide.report.page._blocks import COARSE, FINE, Blocks, Detail, SpanBlocks
from eventide.report.page._columns import Ints, encode, pack, zigzag
from eventide.report.page._lanes import lanes_of
from eventide.report.page._races import Missing
from eventide.report.rules import findings

VERSION = 1
COUNTERS = 64
ARROWS = 50_000  # edges that the page draws without a selection, where few are in view
STREAM_GAPS = 1_000_000  # spans of a trace whose gaps are explained for each stream too
_EDGES = ("launch", "wait", "synchronize", "fwdbwd", "flow")
_NAME = 2000  # characters of a name that the page keeps
_POINTED = 200  # spans of a finding that keep their arguments, the longest


class PageIndex:
    """Encodes a trace and its report at one level of detail.

    `view` has what is shown: the spans of the report, which are `analysed`, and behind them those of samples.
    """

    def __init__(
        self, view: View, analysed: View, report: Report, detail: Detail, missing: Sequence[Missing] = ()
    ) -> None:
        self.view, self.analysed, self.report, self.detail, self.missing = view, analysed, report, detail, missing
        self.blocks = Blocks()
        self.tracks = shown_tracks(view)
        self.lanes = view.remember("lanes of the page", lambda: lanes_of(view, self.tracks))
        pointed = np.empty(0, np.int64) if detail.arguments else pointed_at(view, report)
        slack = np.pad(report.path.slack, (0, view.count - analysed.count), constant_values=-1)
        self.low, high = analysed.window
        self.spans = SpanBlocks(view, self.lanes, detail, self.blocks, slack=slack, pointed=pointed)
        self.wall = high - self.low

    def build(self, limit: float = math.inf) -> dict[str, Any] | None:
        """The index; blocks are in `blocks`. None where they would take more bytes than the limit."""
        coarse = self.spans.overview(COARSE) if self.lanes else None
        fine = self.spans.overview(FINE) if self.view.count > FINE else None
        lanes = self.spans.index(limit)
        if lanes is None:
            return None
        place = {track: number for number, track in enumerate(self.tracks)}
        for lane in lanes:
            lane["track"] = place[lane["track"]]
        index = {
            "version": VERSION,
            "title": html_text.visible(self.report.title),
            "origin": str(self.low),
            "wall": self.wall,
            "grid": self.detail.grid,
            "names": [html_text.visible(name[:_NAME]) for name in self.view.names],
            "labels": self.spans.labels,
            "kinds": [kind or "other" for kind in self.view.categories],
            "tracks": [self._track(track) for track in self.tracks],
            "lanes": lanes,
            "coarse": coarse,
            "fine": fine,
            "gaps": self._gaps(place),
            "causes": list(CAUSES),
            "path": self._path(),
            "counters": self._counters(),
            "stacks": self._stacks(),
            "edges": list(_EDGES),
            "arrows": self._arrows() if self.detail.edges else None,
            "missing": [self._ends(edge) for edge in self.missing],
        }
        return index if self.blocks.size <= limit else None

    def _ends(self, edge: Missing) -> list[list[int]]:
        """Lane and time of both ends: the end of the one span, the start of the other."""
        one, other = self.spans.place[edge.one], self.spans.place[edge.other]
        times = self.view.end[edge.one] - self.low, self.view.start[edge.other] - self.low
        return [[int(one), int(times[0])], [int(other), int(times[1])]]

    def _track(self, track: int) -> dict[str, str]:
        view = self.view
        if view.track_kind[track] == "stream":
            return {
                "name": html_text.visible(f"stream {view.stream(track)}"),
                "group": html_text.visible(view.device(track)),
                "kind": "stream",
            }
        return {"name": html_text.visible(view.thread(track)), "group": "", "kind": view.track_kind[track]}

    def _gaps(self, place: dict[int, int]) -> list[dict[str, Any]]:
        """Idle time of each device, above its first stream: a piece for each cause of a gap, so that sums are exact."""
        found = (
            []
            if self.analysed.count > STREAM_GAPS
            else self._gaps_of(idle(self.analysed, by="stream").table, place, True)
        )
        return [*self._gaps_of(self.report.idle.table, place, False), *found]

    def _gaps_of(self, table: pa.Table, place: dict[int, int], by_stream: bool) -> list[dict[str, Any]]:
        """Of each device, at its first stream; or of each stream of a device that has several."""
        devices = np.array(table.column("device").to_pylist())
        streams = np.array([stream or "" for stream in table.column("stream").to_pylist()])
        start = table.column("start").to_numpy()
        causes = np.stack([table.column(cause).to_numpy() for cause in CAUSES])
        found = []
        several = [(device, track) for device, tracks in self.view.devices.items() if tracks[1:] for track in tracks]
        single = [(device, tracks[0]) for device, tracks in self.view.devices.items()]
        for device, track in several if by_stream else single:
            name = self.view.stream(track) if by_stream else ""
            mine = np.flatnonzero((streams == name) & (devices == device)) if table.num_rows else np.empty(0, np.int64)
            mine = mine[np.argsort(start[mine], kind="stable")]
            parts = causes[:, mine].T
            gap, cause = np.nonzero(parts)
            length = parts[gap, cause]
            # A gap's pieces lie end to end: what came before within the gap is the running sum less that of its first.
            before = np.cumsum(length) - length
            inside = before - before[np.searchsorted(gap, np.arange(len(mine)))][gap]
            rows = self._chained(start[mine][gap] + inside, length, cause)
            entry = {"group": str(place[track]), "rows": rows, "used": np.unique(cause).tolist()}
            found.append({**entry, "stream": by_stream})
        return found

    def _arrows(self) -> dict[str, Any] | None:
        """Edges between lanes by the time of their effect; none where they are too many to be looked at."""
        parts = []
        for kind in ("launch", "wait"):
            edges = self.view.edges(kind)
            known = np.flatnonzero((edges.from_span >= 0) & (edges.to_span >= 0))
            parts.append((edges.from_span[known], edges.to_span[known]))
        one, other = (np.concatenate(column) for column in zip(*parts, strict=True))
        keep = (self.spans.place[one] >= 0) & (self.spans.place[other] >= 0) if len(one) else one > 0
        one, other = one[keep], other[keep]
        if not 0 < len(one) <= ARROWS:
            return None
        order = np.argsort(self.view.start[other], kind="stable")
        one, other = one[order], other[order]
        until = self.view.start[other] - self.low
        lanes = self.spans.place[one], self.spans.place[other]
        back = zigzag(until - (np.minimum(self.view.end[one], self.view.start[other]) - self.low))
        block = encode([np.diff(until, prepend=0), back, *lanes])
        return {"n": block.rows, "w": block.widths, "b": self.blocks.add(block.text)}

    def _path(self) -> dict[str, Any] | None:
        """Pieces of the critical path that are spans, with their lane."""
        table = self.report.path.table
        if table.num_rows == 0:
            return None
        span = table.column("span").fill_null(-1).to_numpy()
        start, duration = table.column("start").to_numpy(), table.column("duration").to_numpy()
        lane = np.where(span >= 0, self.spans.place[np.maximum(span, 0)] + 1, 0) if self.view.count else span + 1
        return self._chained(start, duration, lane) if lane.any() else None

    def _chained(self, start: Ints, duration: Ints, value: Ints) -> dict[str, Any]:
        """Disjoint intervals with a value, in nanoseconds from the start of the page."""
        begin = np.maximum(start - self.low, 0)
        gap = np.maximum(np.diff(begin, prepend=0) - np.append(0, duration[:-1]), 0)
        block = encode([gap.astype(np.int64), duration.astype(np.int64), value.astype(np.int64)])
        return {"n": block.rows, "w": block.widths, "b": self.blocks.add(block.text)}

    def _counters(self) -> list[dict[str, Any]]:
        """The first COUNTERS series whose values are finite."""
        table = self.view.trace.counters
        if table.num_rows == 0:
            return []
        track = table.column("track").to_numpy()
        names = table.column("name").unify_dictionaries().combine_chunks()
        code = names.indices.to_numpy(zero_copy_only=False)
        words = names.dictionary.to_pylist()
        keys, which = np.unique(np.stack((track, code)), axis=1, return_inverse=True)
        found = []
        for number, (where, name) in enumerate(keys.T.tolist()):
            series = self._series(np.flatnonzero(which.reshape(-1) == number))
            if series is not None:
                place = self.view.track_device[where] or self.view.track_name[where] or ""
                found.append({**series, "name": html_text.visible(f"{place} {words[name]}".strip())})
        return found[:COUNTERS]

    def _series(self, rows: Ints) -> dict[str, Any] | None:
        """Times as steps of integers, values as doubles."""
        table = self.view.trace.counters
        time = table.column("time").to_numpy()[rows]
        order = np.argsort(time, kind="stable")
        value = table.column("value").fill_null(0.0).to_numpy()[rows][order]
        if not np.isfinite(value).all():
            return None
        step = np.diff(np.maximum(time[order] - self.low, 0), prepend=0).astype(np.int64)
        block = encode([step, value])
        low, high = float(min(value.min(), 0)), float(value.max())
        return {"n": block.rows, "w": block.widths, "b": self.blocks.add(block.text), "low": low, "high": high}

    def _stacks(self) -> int | None:
        table = self.view.trace.stacks
        if table.num_rows == 0:
            return None
        lines = []
        for frames in table.column("frames").to_pylist():
            cells = [[one["file"] or "", one["line"] or 0, one["function"] or ""] for one in frames or []]
            lines.append(html_text.data(cells))
        return self.blocks.add(pack("\n".join(lines).encode()))


def shown_tracks(view: View) -> list[int]:
    """Streams by device first, then threads by how much they recorded, then what else has spans: main threads first."""
    used = np.unique(view.track).tolist() if view.count else []
    streams = [track for track in view.stream_tracks if track in set(used)]
    streams += [track for track in used if view.track_kind[track] == "stream" and track not in set(streams)]
    counts = dict(zip(*(each.tolist() for each in np.unique(view.track, return_counts=True)), strict=True))
    threads = sorted((track for track in used if view.track_kind[track] == "thread"), key=lambda t: -counts[t])
    others = [track for track in used if track not in {*streams, *threads}]
    others.sort(key=lambda track: view.track_tid[track] is None or view.track_tid[track] != view.track_pid[track])
    return [*streams, *threads, *others]


def pointed_at(view: View, report: Report) -> Ints:
    """The spans in the places of findings: of each the longest ones."""
    found = [np.empty(0, np.int64)]
    for place in {each.place for each in findings(report) if each.place is not None}:
        rows = np.flatnonzero((view.start < place[1]) & (view.end > place[0]))
        found.append(rows[np.argsort(-view.duration[rows], kind="stable")[:_POINTED]])
    return np.unique(np.concatenate(found))


def describe(detail: Detail) -> str:
    """What the page leaves out, for people."""
    left = []
    if not detail.arguments:
        left.append("arguments of spans (except where findings point)")
    if not detail.edges:
        left.append("arrows between spans")
    if detail.grid > 1:
        left.append(f"times finer than {f.time(detail.grid)} on the timeline")
    if not detail.slack:
        left.append("slack of spans")
    return f"Left out to limit the size of the file: {', '.join(left)}. Findings and tables are exact." if left else ""
