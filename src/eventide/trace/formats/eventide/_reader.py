"""Reads .eventide files: closed, being recorded, or of a killed process.

The core also reads the recorder's buffer if the file is not closed. Nothing is written: that is `recover_trace`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide import _native
from eventide.trace._schema import OPERATIONS, SCHEMAS
from eventide.trace._trace import Trace, table_of
from eventide.trace._window import cut
from eventide.trace.formats.eventide._collectives import with_collectives
from eventide.trace.formats.eventide._columns import ABSENT, Codes, Names, Stacks, optional, parsed, strings, texts
from eventide.trace.formats.eventide._kineto import tie
from eventide.trace.formats.eventide._metadata import metadata_of
from eventide.trace.formats.eventide._tracks import Tracks
from eventide.trace.formats.eventide._virtual import on_virtual_clock
from eventide.trace.formats.eventide._work import Work

Columns = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """What the numbers in the columns mean."""

    names: Names
    tracks: Tracks
    stacks: Stacks


def read(path: Path) -> Trace:
    """The trace in a file of our own recorder."""
    return derive(_native.load_trace(str(path)), path)


def read_later(path: Path) -> Trace:
    """The same, with tables derived on first use. The file is read and checked now; it may be deleted afterwards."""
    return Trace.later(partial(derive, _native.load_trace(str(path)), path))


def derive(loaded: _native.RawTrace, path: Path) -> Trace:
    """All tables of what was loaded from `path`."""
    raw = loaded.columns()
    head, account = parsed(raw["head"]), parsed(raw["account"])
    notes: dict[str, Any] = {}
    for note in raw["notes"]:
        notes.update(parsed(note))
    names = Names(raw["texts"], bool(account.get("names_lost")))
    if isinstance(notes.get("process"), dict):  # what is known only later, such as the rank in torch.distributed
        head = {**head, "about": {**head.get("about", {}), "process": notes["process"]}}
    tracks = Tracks(texts(raw["tracks"]), head)
    known = Known(names, tracks, Stacks(raw["stacks"], names))
    spans = raw["spans"]
    hook_names = [str(name) for name in head.get("hooks", [])]
    hooks = {**raw["hooks"], "thread": tracks.rows(raw["hooks"]["thread"])}
    tied, untied = tie(spans, names, tracks)
    work = Work(hooks, hook_names, names, tracks, len(spans["start"]))
    tables = {
        "spans": _joined("spans", _if_any(_spans, spans, known), work.spans(known.stacks)),
        "instants": _joined("instants", _if_any(_instants, raw["instants"], known), work.failures(known.stacks)),
        "counters": _joined("counters", _if_any(_counters, raw["counters"], known), work.memory_levels()),
        "edges": _joined("edges", _if_any(_edges, raw["edges"], known), tied, work.edges()),
        "operations": _operations(hooks, hook_names, known),
        "stacks": known.stacks.table,
        "tracks": tracks.table(),
    }
    wall_ns, wall_at_ns = int(head.get("wall_ns") or 0), int(head.get("wall_at_ns") or 0)
    tables["spans"] = with_collectives(tables["spans"], notes.pop("collectives", None), wall_at_ns - wall_ns)
    metadata = {**metadata_of(path, raw, head, account, notes), **notes}
    metadata["account"]["untied"] = untied
    trace = on_virtual_clock(Trace(tables, metadata))
    return cut(trace, *notes["window"]) if "window" in notes else trace


def _if_any(make: Callable[[Any, Known], Columns], rows: Columns, known: Known) -> Columns:
    """The columns of these rows; no columns for no rows, which makes small traces faster."""
    return make(rows, known) if len(rows["track" if "track" in rows else "kind"]) else {}


def _joined(name: str, *parts: Columns) -> pa.Table:
    """The rows of the file, then derived rows."""
    filled = [table_of(name, columns) for columns in parts if columns]
    if len(filled) < 2:
        return filled[0] if filled else SCHEMAS[name].empty_table()
    return pa.concat_tables(filled).unify_dictionaries().combine_chunks()


def _spans(spans: Any, known: Known) -> Columns:
    names = known.names
    end, start = spans["end"], spans["start"]
    open_ = end == ABSENT
    return {
        "track": known.tracks.rows(spans["track"]),
        "name": names.column(spans["name"], null=False),
        "category": names.column(spans["category"], null=False, default="span"),
        "start": start,
        "duration": pa.array(np.where(open_, 0, end - np.where(open_, 0, start)), mask=open_),
        "submit": optional(spans["submit"]),
        "cpu": optional(spans["cpu"]),
        "work": optional(spans["work"]),
        "correlation": optional(spans["correlation"]),
        "outcome": names.column(spans["outcome"], null=True),
        "stack": known.stacks.column(spans["stack"]),
        "args": _with_errors(strings(spans["args"]), spans["error"], names),
    }


def _with_errors(args: pa.Array, errors: Codes, names: Names) -> pa.Array:
    """Adds the name of the exception that left a span to its arguments."""
    rows = np.flatnonzero(errors)
    if not len(rows):
        return args
    used, codes = names.codes(errors[rows])
    alone = [json.dumps({"error": names[number]}) for number in used.tolist()]
    descriptions = [
        alone[code] if text is None else json.dumps({**json.loads(text), "error": names[int(used[code])]})
        for text, code in zip(args.take(pa.array(rows)).to_pylist(), codes.tolist(), strict=True)
    ]
    return pc.replace_with_mask(args, pa.array(errors != 0), pa.array(descriptions, args.type))


def _instants(instants: Any, known: Known) -> Columns:
    return {
        "track": known.tracks.rows(instants["track"]),
        "name": known.names.column(instants["name"], null=False),
        "category": known.names.column(instants["category"], null=False, default="span"),
        "time": instants["time"],
        "stack": known.stacks.column(instants["stack"]),
        "args": strings(instants["args"]),
    }


def _counters(counters: Any, known: Known) -> Columns:
    """A counter without a track belongs to the process."""
    return {
        "track": known.tracks.rows(counters["track"]),
        "name": known.names.column(counters["name"], null=False),
        "time": counters["time"],
        "value": counters["value"],
    }


def _edges(edges: Any, known: Known) -> Columns:
    return {
        "kind": known.names.column(edges["kind"], null=False),
        **{name: known.tracks.rows(edges[name]) for name in ("from_track", "to_track")},
        **{name: edges[name] for name in ("from_time", "to_time")},
        **{name: optional(edges[name]) for name in ("event", "version", "correlation")},
    }


def _accesses(hooks: Columns) -> pa.Array:
    """Lists; null for unknown accesses."""
    kind = OPERATIONS.field("accesses").type
    offsets, known = hooks["access_offsets"], hooks["known"]
    if len(offsets) - 1 and not known.any() and not offsets[-1]:
        return pa.nulls(len(known), kind)
    parts = {
        "address": pa.array(hooks["access_address"]),
        "bytes": pa.array(hooks["access_bytes"]),
        "write": pa.array(hooks["access_write"].astype(np.bool_)),
        "run": optional(hooks["access_run"], 0),
        "stride": optional(hooks["access_stride"], 0),
        "possible": pa.array(hooks["access_possible"].astype(np.bool_)),
    }
    inner = list(kind.value_type)
    values = pa.StructArray.from_arrays([parts[field.name].cast(field.type) for field in inner], fields=inner)
    unknown = pa.array((known == 0) & (np.diff(offsets) == 0))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=unknown)


def _operations(hooks: Any, hook_names: list[str], known: Known) -> Columns:
    names = known.names
    version = hooks["version"]
    return {
        "hook": pa.DictionaryArray.from_arrays(pa.array(hooks["hook"]), pa.array(hook_names, pa.string())),
        "end": pa.array(hooks["end"].astype(np.bool_)),
        "time": hooks["time"],
        "thread": optional(known.tracks.system_ids(hooks["thread"]), 0),
        "device": names.column(hooks["device"], null=True),
        "stream": optional(hooks["stream"], 0),
        "event": optional(hooks["event"], 0),
        "version": pa.array(version, mask=(hooks["event"] == 0) | (version < 0)),
        "work": optional(hooks["work"], 0),
        "handle": optional(hooks["handle"], 0),
        "bytes": pa.array(hooks["bytes"], mask=(hooks["bytes"] == 0) & (hooks["handle"] == 0)),
        "name": names.column(hooks["name"], null=True),
        "group": names.column(hooks["group"], null=True),
        "accesses": _accesses(hooks),
        "stack": known.stacks.column(hooks["stack"]),
    }
