"""Reads .pftrace: Perfetto's track events, ours and those of others. The core decodes them.

Our own files hold the tables that Perfetto has no place for, and are restored exactly. Files of others get tracks
from their descriptors, and arrows become edges of the kind `flow`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.errors import TraceFormatError
from eventide.trace._columns import NONE, Ints
from eventide.trace._trace import Trace
from eventide.trace.formats.parquet import from_bytes
from eventide.trace.formats.perfetto._foreign import foreign_tables
from eventide.trace.formats.perfetto._packets import read_packets
from eventide.trace.formats.perfetto._writer import KEPT, VERSION


def read(path: Path) -> Trace:
    """The trace; what was left out is in `metadata["warnings"]`."""
    warnings: list[str] = []
    found, size = read_packets(path, warnings)
    if not found["account"]["events"] and not found["about"]:
        raise TraceFormatError(
            "there are no track events in this Perfetto trace; nothing else is read",
            str(path),
            size["bytes"] - size["lost_bytes"],
        )
    texts = read_texts(found["texts"], warnings)
    if found["about"]:
        return _own(found, texts, path, size, warnings)
    tables = foreign_tables(found, texts)
    account = {**_account(found, tables, warnings), **size}
    return Trace(tables, {"source": "perfetto", "account": account, "warnings": warnings})


def read_texts(pair: tuple[Ints, Any], warnings: list[str]) -> pa.Array:
    """The core's table of texts."""
    offsets, data = pair
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # other tools may write invalid UTF-8
        binary = array.cast(pa.large_binary())
        warnings.append("some texts are not UTF-8; their invalid bytes were replaced")
        array = pa.array([text.decode("utf-8", "replace") for text in binary.to_pylist()], pa.large_string())
    return array.cast(pa.string())


def _own(found: dict[str, Any], texts: pa.Array, path: Path, size: dict[str, int], warnings: list[str]) -> Trace:
    """A trace that Eventide wrote; of one that was cut the account has the bytes and the rows that are lost."""
    about = json.loads(found["about"])
    if about["version"] > VERSION:
        words = f"the file has version {about['version']} and this Eventide reads {VERSION}; install a newer one"
        raise TraceFormatError(words, str(path), 0)
    kept = {name: from_bytes(data) for name, data in found["tables"].items()}
    tables: dict[str, Any] = {name: kept[name] for name in KEPT if name in kept}
    slices = found["slices"]
    instant = slices["instant"].astype(bool)
    lanes = about["lanes"]
    track = (slices["track"] - np.uint64(about["first_track"])).astype(np.int64)
    slices = {**slices, "track": np.array([*lanes, 0], np.int32)[np.minimum(track, len(lanes))]}
    read = {
        "spans": span_columns(slices, texts, ~instant, about["base"]),
        "instants": instant_columns(slices, texts, instant, about["base"]),
        "counters": _counters(found["values"], about),
    }
    missing = {}
    for name, columns in read.items():
        there = len(next(iter(columns.values())))
        rows = _rows(kept.get(f"order of {name}"), there)
        back = pa.array(np.argsort(rows))
        tables[name] = {column: values.take(back) for column, values in columns.items()}
        if there < about["rows"][name]:
            missing[name] = about["rows"][name] - there
            warnings.append(f"{there:,} of {about['rows'][name]:,} {name} are in the file")
            if name == "spans" and "edges" in tables:
                tables["edges"] = _without_missing(tables["edges"], np.sort(rows))
    metadata = about["metadata"]
    if missing or size["lost_bytes"]:
        metadata["account"] = {**metadata.get("account", {}), **size, "missing": missing}
    if warnings:
        metadata["warnings"] = [*metadata.get("warnings", []), *warnings]
    return Trace(tables, metadata)


def span_columns(slices: dict[str, Any], texts: pa.Array, mask: Any, base: int) -> dict[str, Any]:
    """The columns of `spans`, of the slices in the mask."""
    start, end, queued = (slices[name][mask] for name in ("start", "end", "queued"))
    with np.errstate(over="ignore"):
        columns = {
            "start": pa.array(start + base),
            "duration": _integers(np.where(end == NONE, NONE, end - start)),
            "submit": _integers(np.where(queued == NONE, NONE, start + base - queued)),
        }
    for name in ("cpu", "work", "correlation"):
        columns[name] = _integers(slices[name][mask])
    return {
        **columns,
        **_named(slices, texts, mask),
        "outcome": coded(slices["outcome"][mask], texts, null=True),
        "stack": _integers(slices["stack"][mask]).cast(pa.int32()),
    }


def instant_columns(slices: dict[str, Any], texts: pa.Array, mask: Any, base: int) -> dict[str, Any]:
    """The columns of `instants`, of the slices in the mask."""
    return {
        "time": pa.array(slices["start"][mask] + base),
        **_named(slices, texts, mask),
        "stack": _integers(slices["stack"][mask]).cast(pa.int32()),
    }


def _named(slices: dict[str, Any], texts: pa.Array, mask: Any) -> dict[str, Any]:
    args = slices["args"][mask]
    return {
        "track": pa.array(slices["track"][mask]),
        "name": coded(slices["name"][mask], texts),
        "category": coded(slices["category"][mask], texts),
        "args": texts.take(pa.array(args, mask=args == 0)),
    }


def coded(codes: Any, texts: pa.Array, null: bool = False) -> pa.DictionaryArray:
    """A dictionary of the texts that occur; 0, the empty one, may mean null."""
    used, inverse = np.unique(codes, return_inverse=True)
    indices = pa.array(inverse.astype(np.int32), mask=(codes == 0) if null else None)
    return pa.DictionaryArray.from_arrays(indices, texts.take(pa.array(used)))


def _integers(values: Ints) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _counters(values: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    series = about["series"]
    number = (values["track"] - np.uint64(about["first_track"])).astype(np.int64) - len(about["lanes"])
    names = pa.array([name for _, name in series], pa.string())
    return {
        "track": pa.array(np.array([track for track, _ in series], np.int32)[number]),
        "name": pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), names),
        "time": pa.array(values["time"] + about["base"]),
        "value": pa.array(values["value"]),
    }


def _rows(order: pa.Table | None, there: int) -> Ints:
    """The original row of each row in the file."""
    return np.arange(there) if order is None else order.column("row").to_numpy()[:there]


def _without_missing(edges: pa.Table, present: Ints) -> pa.Table:
    """Edges, with the rows of their spans in this trace; null if a span is missing."""
    for name in ("from_span", "to_span"):
        rows = edges.column(name).fill_null(NONE).to_numpy()
        place = np.searchsorted(present, rows)
        edges = edges.set_column(edges.column_names.index(name), name, pa.array(place, mask=~np.isin(rows, present)))
    return edges


def _account(found: dict[str, Any], tables: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    account = found["account"]
    if account["lost"]:
        warnings.append(f"{account['lost']:,} events need packets before the start of the file and were left out")
    if account["loose_ends"]:
        warnings.append(f"{account['loose_ends']:,} slices end that never began; their ends were left out")
    if account["legacy"]:
        warnings.append(f"{account['legacy']:,} events are of older, unsupported kinds and were left out")
    if account["left_out"]:
        warnings.append(
            f"{account['left_out']:,} texts of arguments were left out: the file repeats long ones too often"
        )
    recorded = {name: len(next(iter(table.values()))) for name, table in tables.items()}
    return {"recorded": recorded, **account}
