"""Reads Kineto and Chrome JSON, plain or gzip, into a Trace. The core parses; this module interprets the columns.

_input                bytes from the file      linking._tracks   threads, streams, processes
linking._columns      numpy to Arrow           linking._edges    launches, waits, synchronizations
linking._categories   categories of spans      _flows            arrows that the source drew
_metadata             what it says about itself, and the account of the reading
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eventide._native import ChromeDocument
from eventide.errors import TraceFormatError
from eventide.trace._trace import Trace
from eventide.trace.formats._input import INFLATE_LIMIT, pieces
from eventide.trace.formats.chrome import _metadata as metadata
from eventide.trace.formats.chrome._eventide_member import is_own, restore
from eventide.trace.formats.chrome._flows import add_flows
from eventide.trace.formats.chrome._memory import memory_counters
from eventide.trace.formats.chrome._stacks import read_stacks
from eventide.trace.linking._categories import KNOWN, NUMBER, WORDS, categorize
from eventide.trace.linking._columns import NONE, Ids, Ints, Strings, integers, texts, words
from eventide.trace.linking._edges import COLUMNS, KINDS, Edges, Rows, add_launches, add_waits, find_callers
from eventide.trace.linking._event_names import STEP
from eventide.trace.linking._tracks import Tracks, find_tracks

MAX_VALUE = 128 << 20  # bytes of one event
_TRACK_COLUMNS = (
    ("spans", "track"),
    ("instants", "track"),
    ("counters", "track"),
    ("edges", "from_track"),
    ("edges", "to_track"),
)


def read(
    path: str | os.PathLike[str], *, inflate_limit: float | None = INFLATE_LIMIT, max_event: int = MAX_VALUE
) -> Trace:
    """Read a Chrome trace, as Kineto (torch.profiler), JAX, VizTracer, Chrome and many others write it.

    A file that was cut is read up to its last whole event, and `metadata["warnings"]` says what is lost. A gzip file
    that inflates more than `inflate_limit` times is refused (None: never), as is an event of over `max_event` bytes.
    """
    file = Path(path)
    return read_pieces(pieces(file, inflate_limit), file, max_event)


def read_pieces(content: Iterable[bytes], file: Path, max_event: int = MAX_VALUE) -> Trace:
    """Read the content of a file in pieces of any size; the path is for messages."""
    document = ChromeDocument(KNOWN, max_event)
    broken = ""
    try:
        for piece in content:
            document.feed(piece)
    except EOFError as error:  # the gzip stream ended early; what was read is valid
        broken = str(error)
    how = document.finish()
    account = document.account()
    _refuse(how, account, file, broken)
    return _build(document.columns(), account, how, broken)


def _refuse(how: str, account: dict[str, Any], file: Path, broken: str) -> None:
    """Raise if nothing was read."""
    place = (str(file), account["position"])
    if how == "empty":
        raise TraceFormatError(broken or "the file has only white space", *place)
    if how == "bad" and not account["elements"]:
        raise TraceFormatError(f"{account['message']}; nothing could be read", *place)
    if how == "no events" or (how == "cut" and not account["event_arrays"]):
        keys = ", ".join(repr(key)[:40] for key, _ in account["metadata"][:5])
        seen = f"it has {keys}" if keys else "it has no members"
        raise TraceFormatError(f"JSON without traceEvents is not a Chrome trace; {seen}", *place)
    if account["elements"] and account["ignored"].get("not an object", 0) == account["elements"]:
        raise TraceFormatError("an array without objects is not a Chrome trace", *place)


def _build(columns: dict[str, Any], account: dict[str, Any], how: str, broken: str) -> Trace:
    about = metadata.read_about(account["metadata"])
    strings = Strings(columns["string_ends"], columns["string_bytes"])
    for table, column in (("spans", "start"), ("instants", "time"), ("counters", "time"), ("flows", "time")):
        columns[table][column] += about.base
    tracks = find_tracks(columns, strings, about.devices)
    rows = _rows(columns["spans"], strings, tracks)
    edges = Edges()
    find_callers(rows)
    add_launches(edges, rows)
    loose = add_flows(edges, rows, columns["flows"], strings)
    if own_ends := loose.pop(metadata.OWN_ENDS, 0):
        account["ignored"][metadata.OWN_ENDS] = own_ends
    loose |= add_waits(edges, rows, tracks, columns["waits"])
    tables = {
        "spans": _spans(columns["spans"], strings, rows),
        "instants": _instants(columns["instants"], strings),
        "counters": _counters(columns, tracks, strings),
        "edges": _edges(edges),
    }
    stacks, stack_of_text = read_stacks(columns["spans"]["call_stack"], strings)
    tables["spans"]["stack"] = integers(stack_of_text, len(rows.start), -1)
    _number_tracks(tables, tracks)
    tables |= {"tracks": tracks.columns(about.rank), "stacks": {"frames": stacks}}
    recorded = {name: len(next(iter(table.values()))) for name, table in tables.items()}
    trace = Trace(tables, metadata.describe(about, account, how, {"recorded": recorded, "untied": loose}, broken))
    own = about.rest.get("eventide")
    return restore(trace, own) if is_own(own) else trace


def _rows(spans: dict[str, Any], strings: Strings, tracks: Tracks) -> Rows:
    on_device = np.array([row.device is not None for row in tracks.rows] or [False])[spans["track"]]
    on_stream = np.array([row.kind == "stream" for row in tracks.rows] or [False])[spans["track"]]
    category = categorize(spans["category"], spans["name"], strings, on_stream, on_device & ~on_stream)
    ids = (_filled(spans, "correlation"), _filled(spans, "stream"))
    return Rows(spans["track"], spans["start"], spans["duration"], *ids, category, on_device)


def _number_tracks(tables: dict[str, Any], tracks: Tracks) -> None:
    """Remove tracks without rows."""
    used = np.zeros(len(tracks.rows), np.bool_)
    for table, column in _TRACK_COLUMNS:
        used[tables[table][column]] = True
    numbers = tracks.compact(used)
    for table, column in _TRACK_COLUMNS:
        tables[table][column] = numbers[tables[table][column]]


def _filled(spans: dict[str, Any], name: str) -> Ints:
    values: Ints = spans[name]
    return values if len(values) else np.full(len(spans["start"]), NONE)


def _spans(spans: dict[str, Any], strings: Strings, rows: Rows) -> dict[str, Any]:
    count = len(spans["start"])
    return {
        "track": spans["track"],
        "name": strings.dictionary(spans["name"]),
        "category": words(rows.category, WORDS),
        "start": pa.array(spans["start"]),
        "duration": integers(spans["duration"], count),
        "submit": integers(rows.submit, count),
        "cpu": integers(spans["cpu"], count),
        "work": _steps(spans["name"], rows.category, strings),
        "correlation": integers(spans["correlation"], count),
        "args": texts(spans["args"]),
    }


def _steps(names: Ids, category: Any, strings: Strings) -> pa.Array:
    """The number of each step."""
    steps = np.flatnonzero(category == NUMBER["step"])
    values = np.full(len(names), NONE)
    found = {number: STEP.match(text) for number, text in strings.used(names[steps]).items()}
    for row in steps.tolist():
        match = found[int(names[row])]
        values[row] = int(match[1]) if match else NONE
    return integers(values, len(names))


def _instants(instants: dict[str, Any], strings: Strings) -> dict[str, Any]:
    nowhere = np.zeros(len(instants["time"]), np.bool_)  # an instant is never work
    category = categorize(instants["category"], instants["name"], strings, nowhere, nowhere)
    return {
        "track": instants["track"],
        "name": strings.dictionary(instants["name"]),
        "category": words(category, WORDS),
        "time": pa.array(instants["time"]),
        "args": texts(instants["args"]),
    }


def _counters(columns: dict[str, Any], tracks: Tracks, strings: Strings) -> dict[str, Any]:
    raw = columns["counters"]
    track = raw["track"].copy()
    pairs = np.unique(np.stack([raw["track"], raw["name"]]), axis=1).T if len(track) else np.empty((0, 2), np.int32)
    table = {(int(on), int(name)): tracks.counter(int(on), strings[name]) for on, name in pairs}
    if table:
        keys = raw["track"].astype(np.int64) << 32 | raw["name"]
        unique, inverse = np.unique(keys, return_inverse=True)
        numbers = [table[int(key) >> 32, int(key) & 0xFFFFFFFF] for key in unique]
        track = np.array(numbers, np.int32)[inverse]
    names, memory = strings.dictionary(raw["name"]), memory_counters(columns, tracks)
    if not len(memory["time"]):
        return {"track": track, "name": names, "time": pa.array(raw["time"]), "value": pa.array(raw["value"])}
    return {
        "track": np.concatenate([track, memory["track"]]),
        "name": pa.concat_arrays([names.cast(pa.string()), memory["name"]]),
        "time": np.concatenate([raw["time"], memory["time"]]),
        "value": np.concatenate([raw["value"], memory["value"]]),
    }


def _edges(edges: Edges) -> dict[str, Any]:
    columns: dict[str, Any] = {name: edges.column(name) for name in COLUMNS}
    rows = len(columns["from_time"])
    for name in COLUMNS[2:3] + COLUMNS[5:]:
        columns[name] = integers(columns[name], rows)
    return {"kind": words(edges.kinds(), KINDS), **columns}
