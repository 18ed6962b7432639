"""Reads .eventide files: closed, being recorded, or left by a process that was killed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eventide import _native
from eventide.errors import UsageError
from eventide.store._eventide_account import metadata_of
from eventide.store._eventide_columns import ABSENT, Ints, Names, arrays, optional, parsed, strings, texts
from eventide.store._eventide_kineto import tie
from eventide.store._eventide_levels import failures, memory_levels
from eventide.store._eventide_tracks import Tracks
from eventide.store._eventide_work import Work
from eventide.store._schema import OPERATIONS, SPANS
from eventide.store._trace import Trace
from eventide.store._window import cut


@dataclass(frozen=True)
class Known:
    """What the numbers in the columns mean."""

    names: Names
    tracks: Tracks
    stacks: dict[int, int]  # the process's numbers -> rows


def read(path: Path) -> Trace:
    """The trace in a file of our own recorder. One that a killed process left is closed with what its buffer held."""
    raw = _native.read_trace(str(path))
    head, account = parsed(raw["head"]), parsed(raw["account"])
    if account and not raw["closed"]:  # what was in the buffer, too
        with suppress(OSError, UsageError):  # the file cannot be written, or its process lives
            _native.recover_trace(str(path))
    notes: dict[str, Any] = {}
    for note in raw["notes"]:
        notes.update(parsed(note))
    names = Names(texts(raw["texts"]), bool(account.get("names_lost")))
    tracks = Tracks(texts(raw["tracks"]), head)
    stack_rows, stacks = _stacks(raw["stacks"], names)
    known = Known(names, tracks, stack_rows)
    spans = arrays(raw["spans"])
    told = arrays(raw["hooks"], narrow=("end",))
    hooks, order = _in_order(told, tracks)
    tied, untied = tie(spans, names, tracks)
    work = Work(hooks, head.get("hooks", []), names, tracks, len(spans["start"]))
    tables = {
        "spans": _spans(spans, work.spans, known),
        "instants": _instants(arrays(raw["instants"]), failures(work.spans), known),
        "counters": _counters(arrays(raw["counters"]), memory_levels(hooks, head.get("hooks", []), names), known),
        "edges": _edges(arrays(raw["edges"]), tied, work.edges, known),
        "operations": _operations(hooks, _accesses(told).take(pa.array(order)), head, known),
        "stacks": stacks,
        "tracks": tracks.table(),
    }
    metadata = {**metadata_of(path, raw, head, account, notes), **notes}
    metadata["account"]["untied"] = untied
    trace = Trace(tables, metadata)
    return cut(trace, *notes["window"]) if "window" in notes else trace


def _stacks(found: list[Any], names: Names) -> tuple[dict[int, int], dict[str, Any]]:
    """Row numbers by the process's own numbers, and the table."""
    rows = {number: row for row, (number, _) in enumerate(found)}
    frames = [[{"file": names[f], "function": names[g], "line": line} for f, g, line in stack] for _, stack in found]
    return rows, {"frames": frames}


def _stack_column(numbers: Ints, rows: dict[int, int]) -> pa.Array:
    used, codes = np.unique(numbers, return_inverse=True)
    table = np.array([rows.get(int(number), -1) for number in used], np.int32)
    found = table[codes] if len(table) else np.zeros(0, np.int32)
    return pa.array(found, mask=found < 0)


def _spans(spans: Any, more: list[dict[str, Any]], known: Known) -> pa.Table:
    names = known.names
    end, start = spans["end"], spans["start"]
    open_ = end == ABSENT
    own = pa.table(
        {
            "track": pa.array(known.tracks.rows(spans["track"]).astype(np.int32)),
            "name": names.column(spans["name"], null=False),
            "category": names.column(spans["category"], null=False, default="span"),
            "start": start,
            "duration": pa.array(np.where(open_, 0, end - np.where(open_, 0, start)), mask=open_),
            "submit": optional(spans["submit"]),
            "cpu": optional(spans["cpu"]),
            "work": optional(spans["work"]),
            "correlation": optional(spans["correlation"]),
            "outcome": names.column(spans["outcome"], null=True),
            "stack": _stack_column(spans["stack"], known.stacks),
            "args": _with_errors(strings(spans["args"]), spans["error"], names),
        },
        SPANS,
    )
    stack_column = _stack_column(np.array([row.get("stack", 0) for row in more], np.int64), known.stacks)
    columns = {name: [row.get(name) for row in more] for name in SPANS.names if name != "stack"}
    derived = Trace({"spans": {**columns, "stack": stack_column}}).spans
    return pa.concat_tables([own, derived]).unify_dictionaries().combine_chunks()


def _with_errors(args: pa.Array, errors: Ints, names: Names) -> pa.Array:
    """The name of the exception that passed through a span is one of its arguments."""
    rows = np.flatnonzero(errors)
    if not len(rows):
        return args
    import json

    listed = args.to_pylist()
    for row in rows.tolist():
        listed[row] = json.dumps({**json.loads(listed[row] or "{}"), "error": names[int(errors[row])]})
    return pa.array(listed, pa.string())


def _instants(instants: Any, more: list[dict[str, Any]], known: Known) -> pa.Table:
    given = {
        "track": known.tracks.rows(instants["track"]),
        "name": known.names.column(instants["name"], null=False),
        "category": known.names.column(instants["category"], null=False, default="span"),
        "time": instants["time"],
        "stack": _stack_column(instants["stack"], known.stacks),
        "args": strings(instants["args"]),
    }
    stacks = _stack_column(np.array([row["stack"] for row in more], np.int64), known.stacks)
    derived = {name: [row[name] for row in more] for name in ("track", "name", "category", "time")}
    return _joined("instants", given, {**derived, "stack": stacks})


def _counters(counters: Any, more: list[dict[str, Any]], known: Known) -> pa.Table:
    """A counter that nobody gave a track belongs to the process."""
    given = {
        "track": known.tracks.rows(counters["track"]),
        "name": known.names.column(counters["name"], null=False),
        "time": counters["time"],
        "value": counters["value"],
    }
    return _joined("counters", given, {name: [row[name] for row in more] for name in given})


def _joined(name: str, given: dict[str, Any], derived: dict[str, Any]) -> pa.Table:
    """The rows of the file, then those that follow from its operations."""
    tables = [Trace({name: columns}).tables[name] for columns in (given, derived)]
    if not tables[1].num_rows:
        return tables[0]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _edges(edges: Any, tied: dict[str, list[Any]], more: list[dict[str, Any]], known: Known) -> dict[str, Any]:
    rows = len(edges["kind"])
    given = {
        "kind": [known.names[number] for number in edges["kind"].tolist()],
        "from_track": known.tracks.rows(edges["from_track"]).tolist(),
        "to_track": known.tracks.rows(edges["to_track"]).tolist(),
        **{name: edges[name].tolist() for name in ("from_time", "to_time")},
        **{name: optional(edges[name]).to_pylist() for name in ("event", "version", "correlation")},
        "from_span": [None] * rows,
        "to_span": [None] * rows,
    }
    return {name: column + tied[name] + [row.get(name) for row in more] for name, column in given.items()}


def _in_order(hooks: dict[str, Any], tracks: Tracks) -> tuple[dict[str, Any], Ints]:
    """The operations by time; those of one thread stay as they were told."""
    order = np.argsort(hooks["time"], kind="stable")
    out = {name: column[order] for name, column in hooks.items() if not name.startswith("access_")}
    out["thread"] = tracks.rows(out["thread"])
    return out, order


def _operations(hooks: Any, accesses: pa.Array, head: Any, known: Known) -> pa.Table:
    names = known.names
    words = pa.array(head.get("hooks", []), pa.string())
    of_event = hooks["event"] != 0
    version = hooks["version"]
    columns = {
        "hook": pa.DictionaryArray.from_arrays(pa.array(hooks["hook"].astype(np.int32)), words),
        "end": pa.array(hooks["end"].astype(bool)),
        "time": pa.array(hooks["time"]),
        "thread": optional(known.tracks.system_ids(hooks["thread"]), 0),
        "device": names.column(hooks["device"], null=True),
        "stream": optional(hooks["stream"], 0),
        "event": optional(hooks["event"], 0),
        "version": pa.array(version, mask=~of_event | (version < 0)),
        "work": optional(hooks["work"], 0),
        "handle": pa.array(hooks["handle"], mask=hooks["handle"] == 0),
        "bytes": pa.array(hooks["bytes"], mask=(hooks["bytes"] == 0) & (hooks["handle"] == 0)),
        "name": names.column(hooks["name"], null=True),
        "group": names.column(hooks["group"], null=True),
        "accesses": accesses,
        "stack": _stack_column(hooks["stack"], known.stacks),
    }
    return pa.table([columns[name].cast(OPERATIONS.field(name).type) for name in OPERATIONS.names], schema=OPERATIONS)


def _accesses(told: Any) -> pa.Array:
    """Lists in the order of the file; null where nobody knows what is touched."""
    inner = OPERATIONS.field("accesses").type.value_type
    parts = {
        "address": pa.array(told["access_address"]),
        "bytes": pa.array(told["access_bytes"]),
        "write": pa.array(told["access_write"]),
        "run": optional(told["access_run"], 0),
        "stride": optional(told["access_stride"], 0),
        "possible": pa.array(told["access_possible"]),
    }
    values = pa.StructArray.from_arrays([parts[field.name].cast(field.type) for field in inner], fields=list(inner))
    offsets = told["access_offsets"].astype(np.int32)
    unknown = (told["known"] == 0) & (np.diff(offsets) == 0)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(unknown))
