"""A trace as numpy arrays: what every answer starts from. Null becomes -1 (ids) or is filled in and counted (ends)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide._util.internal_frames import is_internal_frame
from eventide.analysis._extent import Extent, between_own_calls, extent_of
from eventide.errors import UsageTypeError
from eventide.trace import Trace

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
T = TypeVar("T")

COMPUTE, COMMUNICATION, COPY = 1, 2, 4
# What occupies a stream. Waits, annotations and markers are on stream tracks as well, and occupy nothing.
WORK_BITS = {
    "kernel": COMPUTE,
    "work": COMPUTE,
    "backend": COMPUTE,
    "communication": COMMUNICATION,
    "copy": COPY,
}
NOT_RUN = ("skipped", "cancelled")
# On host threads: spans that only enclose others, and are not themselves an activity of the host. A category that is
# not ours is `other` and kept in the arguments; of these only Kineto's own rows are frames.
FRAMES = ("step", "other")
_ESSENTIAL = ("runtime", "sync", "compile", "step")  # beside work of devices; never outside of the window
_FOREIGN = r'"cat": ?"'
_KINETOS = r'"cat": ?"(Trace|overhead)"'


def integers(column: pa.ChunkedArray, null: int = -1) -> Ints:
    """An integer column as int64; nulls become `null`."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(null, column.type))
    values: Ints = column.to_numpy().astype(np.int64, copy=False)
    return values


def codes(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """A dictionary column as (code of each row, words); null is the word ""."""
    if column.num_chunks == 0:
        return np.empty(0, np.int64), [""]
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    words = [word if word is not None else "" for word in whole.dictionary.to_pylist()]
    return integers(pa.chunked_array([whole.indices]), len(words)), [*words, ""]


@dataclass(frozen=True)
class Edges:
    """The edges of one kind."""

    from_track: Ints
    from_time: Ints
    from_span: Ints
    to_track: Ints
    to_time: Ints
    to_span: Ints
    event: Ints

    def __len__(self) -> int:
        return len(self.to_span)


class View:
    """Arrays of one trace, made on first use."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._kept: dict[str, Any] = {}
        spans = trace.spans
        self.count = spans.num_rows
        self.track = integers(spans.column("track"))
        self.start = integers(spans.column("start"), 0)
        duration = spans.column("duration")
        self.unfinished: Bools = np.asarray(pc.is_null(duration).to_numpy(), dtype=bool)
        # A negative duration or a start that is missing is the reader's to report; here it lasts no time.
        self.end: Ints = self.start + np.maximum(integers(duration, 0), 0)
        if self.unfinished.any():
            self.end[self.unfinished] = np.maximum(self.start[self.unfinished], self._last_time())
        self.name, self.names = codes(spans.column("name"))
        self.category, self.categories = codes(spans.column("category"))
        tracks = trace.tracks
        self.track_kind: list[str] = [kind or "other" for kind in tracks.column("kind").to_pylist()]
        self.track_name: list[str | None] = tracks.column("name").to_pylist()
        self.track_device: list[str | None] = tracks.column("device").to_pylist()
        self.track_stream: list[int | None] = tracks.column("stream").to_pylist()
        self.track_tid: list[int | None] = tracks.column("tid").to_pylist()
        self.track_pid: list[int | None] = tracks.column("pid").to_pylist()
        self.track_rank: list[int | None] = tracks.column("rank").to_pylist()
        self._beyond: Bools = self._cut_off_profiler()

    def _cut_off_profiler(self) -> Bools:
        """Which rows lie beyond the calls that started and stopped the profiler; those across are cut."""
        essential = (self.bits > 0) | (self.in_categories(*_ESSENTIAL) & self.bits.any())
        traced = between_own_calls(self.names, self.name, self.start, self.end, essential)
        if traced is None:
            return np.zeros(self.count, bool)
        begin, until = traced
        beyond = ((self.end <= begin) & (self.start < begin)) | ((self.start >= until) & (self.end > until))
        self.start = np.where(beyond, self.start, np.maximum(self.start, begin))
        self.end = np.where(beyond, self.end, np.minimum(self.end, until))
        return beyond

    def _last_time(self) -> int:
        last = int(self.end.max()) if self.count else 0
        for table in ("instants", "counters"):
            column = getattr(self.trace, table).column("time")
            if len(column):
                last = max(last, pc.max(column).as_py() or last)
        return last

    def word(self, row: int) -> str:
        """The name of a span."""
        return self.names[int(self.name[row])]

    def category_of(self, row: int) -> str:
        return self.categories[int(self.category[row])]

    @cached_property
    def duration(self) -> Ints:
        return self.end - self.start

    @cached_property
    def submit(self) -> Ints:
        """When the host asked for a span; the least int64 where that is unknown."""
        return integers(self.trace.spans.column("submit"), np.iinfo(np.int64).min)

    @cached_property
    def stack(self) -> Ints:
        return integers(self.trace.spans.column("stack"))

    def in_categories(self, *words: str) -> Bools:
        wanted = np.array([word in words for word in self.categories], dtype=bool)
        return wanted[self.category] if self.count else np.zeros(0, bool)

    def on_kind(self, kind: str) -> Bools:
        wanted = np.array([*(each == kind for each in self.track_kind), False], dtype=bool)
        return wanted[self.track]

    @cached_property
    def bits(self) -> Ints:
        """What each span is for its device: COMPUTE, COMMUNICATION or COPY; 0 if it occupies none."""
        table = np.array([WORK_BITS.get(word, 0) for word in self.categories], dtype=np.int64)
        bits = np.where(self.on_kind("stream"), table[self.category], 0)
        outcome, words = codes(self.trace.spans.column("outcome"))
        bits[np.array([word in NOT_RUN for word in words], dtype=bool)[outcome]] = 0
        return bits

    @cached_property
    def host(self) -> Bools:
        """Spans on host threads that say what the host did, those of any tool's categories among them."""
        return self._on_threads & ~self._beyond

    @cached_property
    def _on_threads(self) -> Bools:
        found: Bools = self.on_kind("thread") & ~self.in_categories(*FRAMES)
        rows = np.flatnonzero(self.on_kind("thread") & self.in_categories("other"))
        if len(rows):
            args = self.trace.spans.column("args").take(pa.array(rows))
            frames = pc.match_substring_regex(args, _KINETOS)
            foreign = pc.and_not(pc.match_substring_regex(args, _FOREIGN), frames)
            found[rows] = pc.fill_null(foreign, False).to_numpy()
        return found

    @cached_property
    def window(self) -> tuple[int, int]:
        """From the first start to the last end of what was traced on threads and streams; without devices, the run."""
        first, last = self._extent.start, self._extent.end
        if self.bits.any():
            return first, last
        known = [(first, last)] if last > first else []
        sampled = self.sample_rows.column("time")
        if len(sampled):
            known.append((pc.min(sampled).as_py(), pc.max(sampled).as_py()))
        run = self.trace.metadata.get("run") or {}
        if "began_ns" in run:
            known.append((run["began_ns"], run.get("ended_ns") or run["began_ns"]))
        return min((one for one, _ in known), default=first), max((two for _, two in known), default=last)

    @cached_property
    def sample_rows(self) -> pa.Table:
        """The instants that are sampled stacks."""
        category = pc.cast(self.trace.instants.column("category"), "string")
        return self.trace.instants.filter(pc.fill_null(pc.equal(category, "sample"), False))

    @cached_property
    def process_names(self) -> dict[int, str]:
        """By pid: "process 812", or "rank 3" if it is one. Empty for a trace of one process, which needs no name."""
        every = self.trace.metadata.get("processes") or ()
        ranks = {one.get("pid"): one.get("rank") for one in every}
        return {pid: f"process {pid}" if rank is None else f"rank {rank}" for pid, rank in ranks.items()}

    @property
    def outside(self) -> Ints:
        """Rows of threads that lie outside of the window."""
        return self._extent.outside

    @cached_property
    def _extent(self) -> Extent:
        here = self._on_threads | (self.bits > 0) | (self.on_kind("thread") & self.in_categories("step"))
        if not here.any():
            here = np.ones(self.count, bool)
        rows = np.flatnonzero(here & ~self._beyond)
        if len(rows) == 0:
            return Extent(0, 0, rows)
        essential = (self.bits > 0) | (self.in_categories(*_ESSENTIAL) & self.bits.any())
        found = extent_of(self.start[rows], self.end[rows], essential[rows])
        beyond = np.flatnonzero(here & self._beyond)
        return Extent(found.start, found.end, np.concatenate((beyond, rows[found.outside])))

    @cached_property
    def stream_tracks(self) -> list[int]:
        """Tracks of streams on which something ran, by device and stream."""
        used = np.unique(self.track[self.bits > 0]).tolist()
        return sorted(used, key=lambda t: (self.device(t), self.track_stream[t] or 0, t))

    def device(self, track: int) -> str:
        """The name of a stream's device; with its rank where the trace has several."""
        device = self.track_device[track] or "device"
        rank = self.track_rank[track]
        return device if rank is None or not self.many_ranks else f"rank {rank} {device}"

    @cached_property
    def many_ranks(self) -> bool:
        return len({rank for rank in self.track_rank if rank is not None}) > 1

    def stream(self, track: int) -> str:
        """The stream's number, and its name if it has one: 7, or 7 'loads'."""
        number, name = self.track_stream[track], self.track_name[track]
        if number is None:
            return name or f"track {track}"
        return str(number) if not name or name.lower().startswith(f"stream {number}") else f"{number} {name!r}"

    def thread(self, track: int) -> str:
        if track < 0:
            return "unknown"
        return self.track_name[track] or f"thread {self.track_tid[track] or track}"

    @cached_property
    def devices(self) -> dict[str, list[int]]:
        """The stream tracks of each device."""
        found: dict[str, list[int]] = {}
        for track in self.stream_tracks:
            found.setdefault(self.device(track), []).append(track)
        return found

    @cached_property
    def work_by_track(self) -> dict[int, Ints]:
        """Rows of the work on each stream, by start."""
        rows = np.flatnonzero(self.bits)
        return grouped(rows, self.track[rows], np.lexsort((self.end[rows], self.start[rows], self.track[rows])))

    @cached_property
    def host_by_track(self) -> dict[int, Ints]:
        """Rows of what each host thread did, outer before inner."""
        rows = np.flatnonzero(self.host & (self.end > self.start))
        return grouped(rows, self.track[rows], np.lexsort((-self.end[rows], self.start[rows], self.track[rows])))

    def remember(self, key: str, make: Callable[[], T]) -> T:
        """What several answers derive from the same view is derived once."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def forget(self, key: str) -> None:
        """Free something large that is not asked for again soon; `remember` would make it again."""
        self._kept.pop(key, None)

    def edges(self, kind: str) -> Edges:
        return self._edges.get(kind) or Edges(*(np.empty(0, np.int64) for _ in range(7)))

    @cached_property
    def _edges(self) -> dict[str, Edges]:
        table = self.trace.edges
        kind, words = codes(table.column("kind"))
        columns = [integers(table.column(field)) for field in Edges.__dataclass_fields__]
        found: dict[str, Edges] = {}
        for number, word in enumerate(words):
            rows = np.flatnonzero(kind == number)
            if len(rows):
                found[word] = Edges(*(column[rows] for column in columns))
        return found


def grouped(rows: Ints, keys: Ints, order: NDArray[np.intp]) -> dict[int, Ints]:
    """`rows` by key; `order` sorts by key first, and then by the order within each group."""
    rows, keys = rows[order], keys[order]
    cuts = np.flatnonzero(np.diff(keys)) + 1
    parts = np.split(rows, cuts) if len(rows) else []
    return {int(keys[cut]): part for cut, part in zip([0, *cuts.tolist()], parts, strict=False)}


def view_of(trace: Trace | View) -> View:
    """Answers take either; several answers about one trace share a View."""
    if isinstance(trace, View):
        return trace
    if not isinstance(trace, Trace):
        raise UsageTypeError(f"an analysis takes a Trace, as open_trace(path) returns it, not {type(trace).__name__}")
    return View(trace)


def frame_text(frame: dict[str, Any]) -> str:
    """A frame as torch.profiler writes it: train.py(7): main."""
    return f"{frame['file'] or '?'}({frame['line'] or 0}): {frame['function'] or '?'}"


def json_of(args: Any) -> dict[str, Any]:
    """The object in an `args` cell; empty where there is none or it is broken."""
    import json

    try:
        found = json.loads(args) if args else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Step:
    """One step, by the clock of its host thread."""

    name: str
    start: int
    end: int

    @property
    def duration(self) -> int:
        return self.end - self.start


def steps_of(view: View) -> tuple[Step, ...]:
    """Steps by start. One that runs into the next ends there, so no moment is in two."""
    rows = np.flatnonzero(view.in_categories("step") & view.on_kind("thread") & (view.end > view.start))
    if len(rows) == 0:
        return ()
    tracks, counts = np.unique(view.track[rows], return_counts=True)
    rows = rows[view.track[rows] == tracks[counts.argmax()]]
    rows = rows[np.argsort(view.start[rows], kind="stable")]
    start: Ints = view.start[rows]
    end = np.minimum(view.end[rows], np.append(start[1:], np.iinfo(np.int64).max))
    return tuple(
        Step(view.word(row), low, high)
        for row, low, high in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True)
        if high > low
    )


def line_of(view: View, stack: int) -> str | None:
    """The innermost frame that is the program's: file:line (function)."""
    if stack < 0 or stack >= view.trace.stacks.num_rows:
        return None
    frames = view.trace.stacks.column("frames")[stack].as_py()
    if not frames:
        return None
    frame = next((one for one in frames if not is_internal_frame(one["file"] or "")), frames[0])
    function = f" ({frame['function']})" if frame["function"] else ""
    return f"{frame['file']}:{frame['line']}{function}"
