"""The critical path written into its trace: a row of its own with the pieces, arrows between them, for any viewer."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from eventide.analysis._critical_path import CriticalPath, critical_path
from eventide.analysis._view import Ints
from eventide.trace import SCHEMAS, Trace

NAME = "critical path"


def mark_critical_path(trace: Trace, step: str | None = None) -> Trace:
    """The trace with one more track, "critical path".

    It has a span for each piece of the path, of category "annotation" with the piece's kind in its arguments, and
    arrows from each piece to the next. A piece that is a span of the trace has an arrow from that span as well.
    """
    path = critical_path(trace, step)
    if path.table.num_rows == 0:
        return trace
    track = trace.tracks.num_rows
    pids = [pid for pid in trace.tracks.column("pid").to_pylist() if pid is not None]
    used = {tid for tid in trace.tracks.column("tid").to_pylist() if tid is not None}
    tid = next(number for number in range(1, len(used) + 2) if number not in used)
    row = {"kind": "thread", "name": NAME, "pid": min(pids, default=1), "tid": tid}
    tracks = _appended(trace.tracks, "tracks", {name: [value] for name, value in row.items()})
    first = trace.spans.num_rows
    return trace.replace(
        tracks=tracks,
        spans=_appended(trace.spans, "spans", _spans(path, track)),
        edges=_appended(trace.edges, "edges", _edges(trace, path, track, first)),
    )


def _spans(path: CriticalPath, track: int) -> dict[str, object]:
    table = path.table
    kinds, names = table.column("kind").to_pylist(), table.column("name").to_pylist()
    places = table.column("where").to_pylist()
    return {
        "track": np.full(table.num_rows, track, np.int32),
        "name": [name or kind for name, kind in zip(names, kinds, strict=True)],
        "category": ["annotation"] * table.num_rows,
        "start": table.column("start"),
        "duration": table.column("duration"),
        "args": [json.dumps({"kind": kind, "where": where}) for kind, where in zip(kinds, places, strict=True)],
    }


def _edges(trace: Trace, path: CriticalPath, track: int, first: int) -> dict[str, object]:
    """From each piece to the next, and from the span that a piece is to the piece."""
    table = path.table
    start: Ints = table.column("start").to_numpy()
    end = start + table.column("duration").to_numpy()
    piece = first + np.arange(len(start))
    span: Ints = table.column("span").fill_null(-1).to_numpy()
    own = np.flatnonzero(span >= 0)
    tracks = trace.spans.column("track").take(pa.array(span[own])).to_numpy()
    here, joined = np.full(len(start), track), np.concatenate
    return {
        "kind": ["flow"] * (len(start) - 1 + len(own)),
        "from_track": joined((here[1:], tracks)),
        "from_time": joined((end[:-1], start[own])),
        "from_span": joined((piece[:-1], span[own])),
        "to_track": joined((here[1:], here[own])),
        "to_time": joined((start[1:], start[own])),
        "to_span": joined((piece[1:], piece[own])),
    }


def _appended(table: pa.Table, name: str, columns: dict[str, object]) -> pa.Table:
    """The table with more rows; columns that are not given are null in them."""
    schema = SCHEMAS[name]
    count = max(len(column) for column in columns.values())  # type: ignore[arg-type]  # lists, arrays, columns
    added = []
    for field in schema:
        given = columns.get(field.name)
        if given is None:
            added.append(pa.chunked_array([pa.nulls(count, field.type)]))
            continue
        column = given if isinstance(given, pa.ChunkedArray) else pa.chunked_array([pa.array(given)])
        if pa.types.is_dictionary(field.type):
            column = column.cast(pa.string()).dictionary_encode()
        added.append(column.cast(field.type))
    return pa.concat_tables([table, pa.table(added, schema=schema)]).unify_dictionaries()
