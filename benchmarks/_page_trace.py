"""Makes a large trace in memory whose names, durations, gaps, nesting and arguments are drawn from real ones.

Each track of a source is cut into groups: spans without a span around them, with all that is inside. A made track is a
sequence of groups of its source, drawn with a fixed seed, with gaps that are drawn too, so that its spans nest.
A launch edge goes to each kernel from the latest launching call before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import eventide as et

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "traces"
SOURCES = ("nvidia_training_rank0", "nvidia_compare_before", "amd_mi300_flux", "nvidia_h100_owlv2", "mtia_inference")
SEED = 20
_PIECE = 200_000  # spans drawn at a time
Ints = Any


def sources() -> list[Path]:
    """The five traces; fewer where the folder is not there."""
    return [path for name in SOURCES if (path := FOLDER / f"{name}.json.gz").exists()]


@dataclass(frozen=True)
class _Track:
    """Spans of one track of a source by start: rows, and the first of each group; gaps are before each group."""

    trace: et.Trace
    kind: str
    rows: Ints
    heads: Ints
    gaps: Ints


def make(count: int, paths: Sequence[Path]) -> et.Trace:
    """A trace of about `count` spans."""
    random = np.random.default_rng(SEED)
    tracks = [track for path in paths for track in _tracks(et.open_trace(path))]
    whole = sum(len(track.rows) for track in tracks)
    tables: list[pa.Table] = []
    places: dict[str, list[Any]] = {"kind": [], "name": [], "pid": [], "tid": [], "device": [], "stream": []}
    for number, track in enumerate(tracks):
        stream = track.kind == "stream"
        values = (track.kind, f"{track.kind} {number}", 1, None if stream else number)
        for name, value in zip(
            places, (*values, "cuda:0" if stream else None, number if stream else None), strict=True
        ):
            places[name].append(value)
        tables += _drawn(track, number, max(count * len(track.rows) // whole, 1), random)
    spans = pa.concat_tables(tables)
    return et.Trace({"tracks": places, "spans": spans, "edges": _launches(spans, places["kind"])})


def _tracks(trace: et.Trace) -> Iterator[_Track]:
    """Streams, and the threads that recorded most."""
    spans, kinds = trace.spans, trace.tracks.column("kind").to_pylist()
    track, start = spans.column("track").to_numpy(), spans.column("start").to_numpy()
    end = start + spans.column("duration").fill_null(0).to_numpy()
    for number in np.argsort(-np.bincount(track, minlength=len(kinds)), kind="stable")[:6].tolist():
        rows = np.flatnonzero(track == number)
        if kinds[number] not in {"stream", "thread"} or len(rows) < 100:
            continue
        rows = rows[np.lexsort((-end[rows], start[rows]))]
        before = np.maximum.accumulate(np.append(start[rows[0]], end[rows][:-1]))
        heads = np.flatnonzero(start[rows] >= before)
        gaps = np.minimum(start[rows][heads] - before[heads], 10_000_000)
        yield _Track(trace, kinds[number], rows, heads, gaps)


def _drawn(track: _Track, number: int, count: int, random: np.random.Generator) -> Iterator[pa.Table]:
    """Tables of about `count` spans."""
    spans = track.trace.spans
    start = spans.column("start").to_numpy()[track.rows]
    duration = spans.column("duration").fill_null(0).to_numpy()[track.rows]
    sizes = np.diff(np.append(track.heads, len(track.rows)))
    lengths = np.maximum.reduceat(start + duration, track.heads) - start[track.heads]
    now, made = 0, 0
    while made < count:
        wanted = max(1, int(min(_PIECE, count - made) / sizes.mean()))
        group = random.integers(0, len(sizes), wanted)
        first = np.cumsum(random.choice(track.gaps, wanted)) + np.cumsum(lengths[group]) - lengths[group] + now
        now = int(first[-1] + lengths[group[-1]])
        inside = np.arange(sizes[group].sum()) - np.repeat(np.cumsum(sizes[group]) - sizes[group], sizes[group])
        place = np.repeat(track.heads[group], sizes[group]) + inside
        shift = np.repeat(first - start[track.heads[group]], sizes[group])
        made += len(place)
        yield _rows(spans, track, number, place, start[place] + shift)


def _rows(spans: pa.Table, track: _Track, number: int, place: Ints, start: Ints) -> pa.Table:
    taken = spans.take(pa.array(track.rows[place]))
    for name, values in {"track": np.full(len(place), number), "start": start}.items():
        at = spans.schema.get_field_index(name)
        taken = taken.set_column(at, spans.schema.field(at), pa.array(values, spans.schema.field(at).type))
    for name in ("stack", "work", "correlation", "submit"):
        at = spans.schema.get_field_index(name)
        taken = taken.set_column(at, spans.schema.field(at), pa.nulls(len(place), spans.schema.field(at).type))
    return taken


def _launches(spans: pa.Table, kinds: Sequence[str]) -> dict[str, Ints]:
    """To each kernel from the latest span of a runtime call that began before it."""
    start, track = spans.column("start").to_numpy(), spans.column("track").to_numpy()
    category = np.array(spans.column("category").cast(pa.string()).to_numpy(), dtype="U10")
    calls = np.flatnonzero(category == "runtime")
    calls = calls[np.argsort(start[calls], kind="stable")]
    kernels = np.flatnonzero(np.isin(track, [n for n, kind in enumerate(kinds) if kind == "stream"]))
    before = np.searchsorted(start[calls], start[kernels]) - 1
    calls, kernels = calls[before[before >= 0]], kernels[before >= 0]
    return {
        "kind": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(calls), np.int32)), pa.array(["launch"])),
        "from_track": track[calls], "from_time": start[calls], "from_span": calls,
        "to_track": track[kernels], "to_time": start[kernels], "to_span": kernels,
    }  # fmt: skip
