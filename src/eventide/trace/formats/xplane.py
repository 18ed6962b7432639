"""Reads JAX's profiles: `*.xplane.pb`, or the directory that `jax.profiler.start_trace` was given.

JAX need not be installed. The core decodes. Planes become processes and devices, lines tracks, and events spans, by the
rules for trace.json of the same profile. A profile has only the events that the profiler timed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eventide import _native
from eventide.errors import TraceFormatError, UsageValueError
from eventide.trace._trace import Trace
from eventide.trace.formats._input import whole
from eventide.trace.formats.perfetto._reader import coded, read_texts
from eventide.trace.linking._categories import NUMBER, WORDS
from eventide.trace.linking._columns import NONE, integers, words
from eventide.trace.linking._edges import COLUMNS, KINDS, Edges, Rows, add_launches, find_callers
from eventide.trace.linking._event_names import on_device, unnamed
from eventide.trace.linking._tracks import LINES_OF_TPU, STREAM, Place, Track, Tracks

SUFFIX = ".xplane.pb"
_RUNS = "plugins/profile"  # below the directory that a program names, a directory for each profile
_NUMBER, _NOTHING = 1, 0  # kinds of ids in Place


def read(path: Path) -> Trace:
    """The trace of one host's profile; of a directory, that of the newest run in it."""
    warnings: list[str] = []
    file = _find(path, warnings) if path.is_dir() else path
    found = _native.read_xplane(whole(file, warnings))
    if "damaged" in found:
        offset, why = found["damaged"]
        raise TraceFormatError(why, str(file), offset)
    if not found["planes"]:
        raise TraceFormatError("there are no planes in this profile", str(file), 0)
    return _trace(found, warnings)


def profiles_in(directory: Path) -> list[Path]:
    """The profiles in a directory: of its newest run, one for each host."""
    runs = sorted(run for run in (directory / _RUNS).glob("*") if any(run.glob(f"*{SUFFIX}")))
    return sorted((runs[-1] if runs else directory).glob(f"*{SUFFIX}"))


def _find(directory: Path, warnings: list[str]) -> Path:
    files = profiles_in(directory)
    if len(files) != 1:
        hosts = ", ".join(file.name.removesuffix(SUFFIX) for file in files)
        raise UsageValueError(
            f"{str(directory)!r} holds profiles of {len(files)} hosts ({hosts}); give the path of one"
        )
    runs = [run for run in (directory / _RUNS).glob("*") if run.is_dir()]
    if len(runs) > 1:
        warnings.append(
            f"there are {len(runs)} profiles below {str(directory)!r}; this is the newest, {files[0].parent.name}"
        )
    return files[0]


def _trace(found: dict[str, Any], warnings: list[str]) -> Trace:
    events, texts = found["events"], read_texts(found["texts"], warnings)
    planes = [(name.decode("utf-8", "replace"), json.loads(stats)) for name, stats in found["planes"]]
    tracks = _tracks(planes, found["lines"])
    rows = Rows(
        events["line"],
        events["start"],
        events["end"] - events["start"],
        events["correlation"],
        np.full(len(events["start"]), NONE),
        _categories(events, texts, tracks),
        np.array([track.device is not None for track in tracks.rows] or [False])[events["line"]],
    )
    edges = Edges()
    find_callers(rows)
    add_launches(edges, rows)
    edges.add("flow", rows, found["from"], found["to"])
    tables = {"spans": _spans(events, texts, rows), "edges": _edges(edges), "tracks": tracks.columns(None)}
    return Trace(tables, _metadata(found, planes, tables, warnings))


def _tracks(planes: list[tuple[str, dict[str, Any]]], lines: list[tuple[int, int, bytes]]) -> Tracks:
    """A track for each line, in the core's order, then one for each plane that has any."""
    names = [(plane, number, name.decode("utf-8", "replace")) for plane, number, name in lines]
    with_streams = {plane for plane, _, name in names if STREAM.match(name)}
    tracks = Tracks([])
    for plane, number, name in names:
        pid = planes[plane][1].get("process_id")
        place = Place((_NOTHING, 0) if pid is None else (_NUMBER, pid), (_NUMBER, number), "", "", False)
        place.label, place.thread = planes[plane][0], name
        track = place.track("gpu", None, None)
        if plane in with_streams and name in LINES_OF_TPU:  # repeats the time of the streams
            track = replace(track, kind="other", stream=None)
        if track.kind == "thread" and not 0 < number < 2**31:  # most are hashes, not thread ids
            track = replace(track, tid=None)
        tracks.rows.append(track)
    parents: dict[int, int] = {}
    for row, (plane, _, _) in enumerate(names):
        example = tracks.rows[row]
        if plane not in parents:
            parents[plane] = len(tracks.rows)
            kind = "process" if example.device is None else "other"
            tracks.rows.append(Track(kind, planes[plane][0], example.pid, None, example.device))
        example.parent = parents[plane]
    return tracks


def _categories(events: dict[str, Any], texts: pa.Array, tracks: Tracks) -> Any:
    """The category by place and name, as numbers of WORDS."""
    place = np.array([_PLACES.index(_place(track)) for track in tracks.rows] or [0], np.int64)[events["line"]]
    pairs, inverse = np.unique(place * len(texts) + events["name"], return_inverse=True)
    names = texts.take(pa.array(pairs % len(texts))).to_pylist()
    table = [
        NUMBER[_category(_PLACES[where], name)]
        for where, name in zip((pairs // len(texts)).tolist(), names, strict=True)
    ]
    category = np.array(table, np.int8)[inverse]
    host = place == _PLACES.index("host")
    category[host & (events["hlo"] != 0)] = NUMBER["op"]
    category[host & (events["step"] != NONE)] = NUMBER["step"]
    return category


_PLACES = ("host", "stream", "beside")


def _place(track: Track) -> str:
    return "host" if track.device is None else "stream" if track.kind == "stream" else "beside"


def _category(place: str, name: str) -> str:
    if place == "stream":
        return on_device(name)
    if place == "beside":
        return "annotation"
    return "sample" if name.startswith("$") else unnamed(name)  # JAX's Python tracer: "$file.py:12 function"


def _spans(events: dict[str, Any], texts: pa.Array, rows: Rows) -> dict[str, Any]:
    count, args = len(rows.start), events["args"]
    return {
        "track": rows.track,
        "name": coded(events["name"], texts),
        "category": words(rows.category, WORDS),
        "start": pa.array(rows.start),
        "duration": pa.array(rows.duration),
        "submit": integers(rows.submit, count),
        "work": integers(np.where(rows.category == NUMBER["step"], events["step"], NONE), count),
        "correlation": integers(rows.correlation, count),
        "args": texts.take(pa.array(args, mask=args == 0)),
    }


def _edges(edges: Edges) -> dict[str, Any]:
    columns: dict[str, Any] = {name: edges.column(name) for name in COLUMNS}
    count = len(columns["from_time"])
    return {
        "kind": words(edges.kinds(), KINDS),
        **{name: integers(values, count) for name, values in columns.items()},
    }


def _metadata(
    found: dict[str, Any], planes: list[tuple[str, dict[str, Any]]], tables: dict[str, Any], warnings: list[str]
) -> dict[str, Any]:
    account, environment = found["account"], dict(planes).get("Task Environment", {})
    began = environment.get("profile_start_time")
    for count, words_ in (
        (account["aggregated"], "events are counts without a time and were left out"),
        (account["bad_times"], "events have invalid times and were left out"),
        (account["unnamed"], "events have no name in the file"),
    ):
        if count:
            warnings.append(f"{count:,} {words_}")
    if began is None:
        warnings.append("the profile does not say when it began: its times count from its own start")
    for kind in ("errors", "warnings"):
        warnings += [f"reported by the profiler itself: {text.decode('utf-8', 'replace')}" for text in found[kind]]
    recorded = {name: len(next(iter(table.values()))) for name, table in tables.items()}
    return {
        "source": "jax",
        "clock": {"name": "unknown" if began is None else "unix", "unit": "ns", "base": began or 0},
        "account": {"recorded": recorded, **account},
        "warnings": warnings,
        "profile": {name: stats for name, stats in planes if stats},
    }
