"""Edges from what torch's profiler reported of devices, derived when the file is read.

In the file its rows are spans with correlation ids, and rows of synchronizations keep their arguments. Launches, waits
of streams and synchronizations follow from these exactly as they do in Kineto's own files (trace/linking/_edges.py).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.trace.formats.eventide._columns import ABSENT, Ints, Names, optional, strings
from eventide.trace.formats.eventide._tracks import Tracks
from eventide.trace.linking._categories import NUMBER
from eventide.trace.linking._edges import COLUMNS, KINDS, Edges, Rows, add_launches, add_waits, find_callers
from eventide.trace.linking._tracks import Track
from eventide.trace.linking._tracks import Tracks as KinetoTracks

_WAITS = {
    "stream": "wait_on_stream",
    "record": "wait_on_cuda_event_record_corr_id",
    "event": "wait_on_cuda_event_id",
}


def tie(spans: dict[str, Any], names: Names, tracks: Tracks) -> tuple[dict[str, Any], dict[str, int]]:
    """Columns of the edges, and counts of those without a match. Work that was launched gets its `submit`, in place."""
    if not (spans["correlation"] != ABSENT).any():
        return {}, {}
    edges = Edges()
    where = _tracks(tracks)
    rows = _rows(spans, names, tracks, where)
    find_callers(rows)
    add_launches(edges, rows)
    loose = add_waits(edges, rows, where, _waits(spans, rows))
    spans["submit"] = np.where(rows.submit == ABSENT, spans["submit"], rows.submit)
    columns = {name: optional(edges.column(name)) for name in COLUMNS}
    kinds = pa.DictionaryArray.from_arrays(pa.array(edges.kinds().astype(np.int32)), pa.array(KINDS, pa.string()))
    return {"kind": kinds, **columns}, loose


def _tracks(tracks: Tracks) -> KinetoTracks:
    table = tracks.table()
    kept = zip(table["kind"], table["name"], table["device"], table["stream"], strict=True)
    return KinetoTracks([Track(kind, name, device=device, stream=stream) for kind, name, device, stream in kept])


def _rows(spans: dict[str, Any], names: Names, tracks: Tracks, where: KinetoTracks) -> Rows:
    track = tracks.rows(spans["track"])
    on_device = np.array([row.device is not None for row in where.rows])[track]
    used, codes = np.unique(spans["category"], return_inverse=True)
    numbers = np.array([NUMBER.get(names[int(one)], NUMBER["other"]) for one in used], np.int8)
    open_ = spans["end"] == ABSENT
    duration = np.where(open_, ABSENT, spans["end"] - np.where(open_, 0, spans["start"]))
    unknown = np.full(len(track), ABSENT)
    return Rows(
        track.astype(np.int32), spans["start"], duration, spans["correlation"], unknown, numbers[codes], on_device
    )


def _waits(spans: dict[str, Any], rows: Rows) -> dict[str, Ints]:
    """The rows that name what was waited for; each row of this kind gets the stream that it names."""
    candidates = np.flatnonzero(rows.on_device & rows.is_in("sync", "wait")).tolist()
    texts = strings(spans["args"]).take(pa.array(candidates, pa.int64())).to_pylist()
    found: list[list[int]] = []
    for row, text in zip(candidates, texts, strict=True):
        args = json.loads(text or "{}")
        rows.stream[row] = _whole(args.get("stream", args.get("stream_id")))
        ids = [_whole(args.get(key)) for key in _WAITS.values()]
        if any(one != ABSENT for one in ids):
            found.append([row, *ids])
    columns = np.array(found, np.int64).reshape(-1, 1 + len(_WAITS)).T
    return dict(zip(("span", *_WAITS), columns, strict=True))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else ABSENT
