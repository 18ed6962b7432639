"""Perfetto traces of other tools as our tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide.trace._schema import CATEGORIES


def foreign_tables(found: dict[str, Any], texts: pa.Array) -> dict[str, Any]:
    """The tables of what the core decoded."""
    from eventide.trace.formats.perfetto._reader import instant_columns, span_columns

    slices, values = found["slices"], found["values"]
    rows = {track["uuid"]: track for track in found["tracks"]}
    for uuid in np.unique(np.concatenate([slices["track"], values["track"]])).tolist():
        rows.setdefault(uuid, {"uuid": uuid, "parent": 0, "name": b"", "pid": None, "tid": None, "kind": "other"})
    number = {uuid: row for row, uuid in enumerate(rows)}
    instant = slices["instant"].astype(bool)
    slices = {**slices, "track": _numbers(slices["track"], number)}
    spans = span_columns(slices, texts, ~instant, 0)
    instants = instant_columns(slices, texts, instant, 0)
    for columns in (spans, instants):
        columns["args"], columns["category"] = _categories(columns["args"], columns["category"])
    return {
        "tracks": _tracks(rows, number),
        "spans": spans,
        "instants": instants,
        "counters": _counters(values, rows, number),
        "edges": _edges(found, slices, instant),
    }


def _numbers(uuids: Any, number: dict[int, int]) -> Any:
    used, inverse = np.unique(uuids, return_inverse=True)
    return np.array([number[uuid] for uuid in used.tolist()] or [0], np.int32)[inverse]


def _tracks(rows: dict[int, Any], number: dict[int, int]) -> dict[str, Any]:
    tracks = list(rows.values())
    processes = {track["pid"]: number[track["uuid"]] for track in tracks if track["kind"] == "process"}

    def parent(track: dict[str, Any]) -> int | None:
        found = number.get(track["parent"]) if track["parent"] else None
        if found is None and track["kind"] != "process":
            found = processes.get(track["pid"])
        return None if found == number[track["uuid"]] else found

    return {
        "kind": [track["kind"] for track in tracks],
        "name": [track["name"].decode("utf-8", "replace") or None for track in tracks],
        "parent": pa.array([parent(track) for track in tracks], pa.int32()),
        "pid": pa.array([track["pid"] for track in tracks], pa.int64()),
        "tid": pa.array([track["tid"] for track in tracks], pa.int64()),
    }


def _categories(args: pa.Array, category: pa.DictionaryArray) -> tuple[pa.Array, pa.DictionaryArray]:
    """The category if Eventide has it; `span` if there is none; else `other`, with the original in the args."""
    words = category.dictionary.to_pylist()
    known = [word if word in CATEGORIES else "other" if word else "span" for word in words]
    coded = pa.DictionaryArray.from_arrays(category.indices, pa.array(known, pa.string())).cast(pa.string())
    if "other" in known:
        rows = zip(args.to_pylist(), category.to_pylist(), coded.to_pylist(), strict=True)
        args = pa.array([_say(text, word) if our == "other" else text for text, word, our in rows], pa.string())
    return args, coded.dictionary_encode()


def _say(args: str | None, category: str) -> str:
    import json

    member = json.dumps({"cat": category}, ensure_ascii=False)
    return member if args in {None, "{}"} else f"{member[:-1]}, {args[1:] if args else ''}"


def _counters(values: dict[str, Any], rows: dict[int, Any], number: dict[int, int]) -> dict[str, Any]:
    value = values["value"].copy()
    names, tracks = {}, {}
    for uuid in np.unique(values["track"]).tolist():
        track = rows[uuid]
        mine = values["track"] == uuid
        if track.get("incremental"):
            value[mine] = np.cumsum(value[mine])
        value[mine] *= track.get("unit", 1)
        names[uuid] = track["name"].decode("utf-8", "replace")
        tracks[uuid] = number[uuid]
    return {
        "track": _numbers(values["track"], tracks) if len(value) else pa.array([], pa.int32()),
        "name": pa.array([names[uuid] for uuid in values["track"].tolist()], pa.string()).dictionary_encode(),
        "time": pa.array(values["time"]),
        "value": pa.array(value),
    }


def _edges(found: dict[str, Any], slices: dict[str, Any], instant: Any) -> dict[str, Any]:
    """Arrows between slices; one that ends in an instant has a track and a time, and no span."""
    source, target = found["from"], found["to"]
    span_row = np.cumsum(~instant) - 1

    def span(rows: Any) -> pa.Array:
        return pa.array(span_row[rows], mask=instant[rows])

    return {
        "kind": pa.array(["flow"] * len(source), pa.string()),
        "from_track": pa.array(slices["track"][source]),
        "from_time": pa.array(slices["start"][source]),
        "from_span": span(source),
        "to_track": pa.array(slices["track"][target]),
        "to_time": pa.array(slices["start"][target]),
        "to_span": span(target),
    }
