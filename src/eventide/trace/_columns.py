"""Columns of a trace as the native encoders take them: numpy arrays over Arrow's own buffers, nulls as one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide import _native
from eventide.errors import UsageValueError
from eventide.trace._check import broken_references
from eventide.trace._trace import Trace

NONE = -(2**63)  # a null among int64
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Texts = tuple[Ints, npt.NDArray[np.uint8]]  # offsets and bytes


def require_sound(trace: Trace) -> None:
    """Refuse what would lead an encoder astray: rows that refer to nothing, and spans without a start."""
    found = list(broken_references(trace))
    if found:
        raise UsageValueError(f"the trace is inconsistent: {found[0]}; see Trace.check()")


def integers(column: pa.ChunkedArray) -> Ints:
    """An int64 column; null is NONE."""
    return np.ascontiguousarray(column.cast(pa.int64()).fill_null(NONE).to_numpy(), np.int64)


def small_integers(column: pa.ChunkedArray) -> Codes:
    """An int32 column; null is -1."""
    return np.ascontiguousarray(column.fill_null(-1).to_numpy(), np.int32)


def codes(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """A dictionary-coded column as codes, -1 where null, and the dictionary."""
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # older pyarrow leaves an empty one as it is
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    return np.ascontiguousarray(array.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int32), array.dictionary


def texts(column: pa.Array | pa.ChunkedArray) -> Texts:
    """Strings as offsets and bytes; null is empty."""
    array = pc.fill_null(column.cast(pa.large_string()), "")
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], pa.large_string())
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    return (
        np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1],
        np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8),
    )


def span_columns(trace: Trace) -> tuple[dict[str, Any], dict[str, pa.Array]]:
    """The table `spans` and its dictionaries."""
    spans = trace.spans
    columns: dict[str, Any] = {"args": texts(spans.column("args"))}
    dictionaries = {}
    for name in ("track", "stack"):
        columns[name] = small_integers(spans.column(name))
    for name in ("start", "duration", "submit", "cpu", "work", "correlation"):
        columns[name] = integers(spans.column(name))
    for name in ("name", "category", "outcome"):
        columns[name], dictionaries[name] = codes(spans.column(name))
    return columns, dictionaries


def instant_columns(trace: Trace, behind: pa.Table | None = None) -> tuple[dict[str, Any], dict[str, pa.Array], Ints]:
    """The table `instants` sorted by track and time, with more rows behind; its dictionaries, and its rows' order."""
    table = trace.instants
    order = np.lexsort((integers(table.column("time")), small_integers(table.column("track"))))
    table = table.take(order)
    if behind is not None and behind.num_rows:
        table = pa.concat_tables([table, behind]).unify_dictionaries()
    columns: dict[str, Any] = {
        "track": small_integers(table.column("track")),
        "time": integers(table.column("time")),
        "stack": small_integers(table.column("stack")),
        "args": texts(table.column("args")),
    }
    dictionaries = {}
    for name in ("name", "category"):
        columns[name], dictionaries[name] = codes(table.column(name))
    return columns, dictionaries, order


def counter_columns(trace: Trace) -> tuple[dict[str, Any], list[tuple[int, str]], Ints]:
    """The table `counters` sorted by series and time; the track and name of each series; the rows in that order."""
    table = trace.counters
    name, names = codes(table.column("name"))
    track, time = small_integers(table.column("track")), integers(table.column("time"))
    both = track.astype(np.int64) * max(len(names), 1) + name
    distinct, series = np.unique(both, return_inverse=True)
    order = np.lexsort((time, series))
    columns = {
        "series": np.ascontiguousarray(series[order], np.int32),
        "time": time[order],
        "value": np.ascontiguousarray(table.column("value").to_numpy()[order], np.float64),
    }
    found = [divmod(int(pair), max(len(names), 1)) for pair in distinct]
    return columns, [(track, names[code].as_py()) for track, code in found], order


def edge_columns(trace: Trace) -> dict[str, Any]:
    """Both ends of the table `edges`."""
    columns: dict[str, Any] = {}
    for end in ("from", "to"):
        columns[f"{end}_track"] = small_integers(trace.edges.column(f"{end}_track"))
        columns[f"{end}_time"] = integers(trace.edges.column(f"{end}_time"))
        columns[f"{end}_span"] = integers(trace.edges.column(f"{end}_span"))
    return columns


def assign_lanes(trace: Trace) -> _native.Lanes:
    """The lanes on which the spans of each track nest."""
    spans = trace.spans
    columns = {
        "track": small_integers(spans.column("track")),
        "start": integers(spans.column("start")),
        "duration": integers(spans.column("duration")),
    }
    return _native.assign_lanes(columns, trace.tracks.num_rows)


def stack_texts(stacks: pa.Table) -> list[str]:
    """One text for each stack, for people: a line for each frame, innermost first."""
    return ["\n".join(_frame_text(frame) for frame in frames or ()) for frames in stacks.column("frames").to_pylist()]


def _frame_text(frame: dict[str, Any] | None) -> str:
    """`train.py:7 main`, without unknown parts."""
    if frame is None:
        return "?"
    line = "" if frame["line"] is None else f":{frame['line']}"
    return f"{frame['file'] or '?'}{line} {frame['function'] or ''}".rstrip()
