"""The writer of Chrome JSON, `.json` and `.json.gz`, in the layout of torch.profiler.

It always nests (what overlaps goes to further lanes) and always parses (whatever the names). What other tools have no
place for is in the member `eventide`, so that the trace can be read back completely.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from eventide import _native
from eventide.trace._check import time_range
from eventide.trace._columns import (
    NONE,
    assign_lanes,
    codes,
    counter_columns,
    edge_columns,
    instant_columns,
    require_sound,
    span_columns,
    stack_texts,
    texts,
)
from eventide.trace._trace import Trace
from eventide.trace.formats.chrome._eventide_member import describe
from eventide.trace.formats.chrome._layout import Layout, chrome_categories, lay_out
from eventide.trace.formats.chrome._memory import NAME, memory_instants

# Kinds of edges as torch.profiler calls its arrows.
ARROWS = {"launch": "ac2g", "fwdbwd": "fwdbwd", "wait": "wait", "synchronize": "synchronize", "flow": "flow"}
# Members with a meaning; user metadata of these names is in the member `eventide` only.
RESERVED = {"traceEvents", "distributedInfo", "traceName", "systemTraceEvents", "otherData", "samples", "stackFrames"}
_FAR = 10**15  # ns; microseconds with three decimals beyond this are no longer exact in a double


def write(trace: Trace, path: Path) -> None:
    """Write the file, compressed if its name ends in .gz."""
    require_sound(trace)
    if path.name.lower().endswith(".gz"):
        with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            _write(trace, cast(BinaryIO, packed))
    else:
        with path.open("wb") as file:
            _write(trace, file)


def _write(trace: Trace, file: BinaryIO) -> None:
    lanes = assign_lanes(trace)
    memory = memory_instants(trace)
    shown = {*_shown(trace, lanes), *memory.column("track").unique().to_pylist()}
    layout = lay_out(trace.tracks.to_pylist(), lanes.track(), shown)
    spans, span_names = span_columns(trace)
    instants, instant_names, instant_order = instant_columns(trace, behind=memory)
    counters, series, counter_order = counter_columns(trace)
    edges = edge_columns(trace)
    edges["arrow"], kinds = codes(trace.edges.column("kind"))
    on_device = layout.stream[spans["track"]] != NONE
    chrome, words, own, our_words = chrome_categories(
        spans["category"], span_names["category"], spans["name"], span_names["name"], on_device
    )
    names = {
        "names": texts(pa.chunked_array([span_names["name"], instant_names["name"]])),
        "categories": texts(pa.array([*words, "cpu_instant_event", "user_annotation"])),
        "outcomes": texts(span_names["outcome"]),
        "places": texts(pa.array(stack_texts(trace.stacks), pa.string())),
        "arrows": texts(pa.array([ARROWS.get(kind, "flow") for kind in kinds.to_pylist()], pa.string())),
        "own": texts(pa.array(our_words, pa.string())),
        "series": texts(pa.array(_series_names(series, layout), pa.string())),
    }
    # Instants of memory in torch's form, and all others.
    torchs = np.array([name == NAME for name in instant_names["name"].to_pylist()] or [False])
    kind_of_instant = len(words) + 1 - torchs[instants["name"]].astype(np.int32)
    tables = {
        "spans": {**spans, "category": chrome, "own_category": own},
        "instants": {
            **instants,
            "name": instants["name"] + np.int32(len(span_names["name"])),
            "category": kind_of_instant.astype(np.int32),
        },
        "counters": counters,
        "edges": edges,
        "series": {"pid": np.array([layout.pid[row] for row, _ in series], np.int64)},
    }
    first, last = time_range(trace)
    base = 0 if first is None or max(abs(first), abs(last or 0)) < _FAR else first - first % 10**9
    orders = {"spans": lanes.order(), "instants": instant_order, "counters": counter_order}
    file.write(_head(trace, base, describe(trace, orders)))
    events = b",\n".join(_json(event) for event in layout.named)
    file.write(events)
    _native.write_chrome(file.write, lanes, tables, names, layout.columns(), base, not events)
    file.write(b"\n]}\n")


def _shown(trace: Trace, lanes: _native.Lanes) -> set[int]:
    """The lanes that have rows."""
    return {*np.flatnonzero(np.bincount(lanes.lane())).tolist(), *trace.instants.column("track").unique().to_pylist()}


def _head(trace: Trace, base: int, own: dict[str, Any]) -> bytes:
    about: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": trace.metadata.get("devices", []),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
    }
    ranks = [rank for rank in trace.tracks.column("rank").unique().to_pylist() if rank is not None]
    if trace.metadata.get("distributed"):
        about["distributedInfo"] = trace.metadata["distributed"]
    elif len(ranks) == 1:
        about["distributedInfo"] = {"rank": ranks[0]}
    user = trace.metadata.get("user")  # what a program added to its profile: members, as in torch's files
    if isinstance(user, dict):
        about = {**{key: value for key, value in user.items() if key not in RESERVED}, **about}
    about["eventide"] = own
    return _json(about)[:-1] + b',\n"traceEvents":[\n'


def _series_names(series: list[tuple[int, str]], layout: Layout) -> list[str]:
    """Chrome merges counters of one name in one process, so the others get the name of their thread."""
    seen: set[tuple[int, str]] = set()
    names = []
    for row, name in series:
        pid = int(layout.pid[row])
        names.append(name if (pid, name) not in seen else f"{name} ({layout.tid[row]})")
        seen.add((pid, names[-1]))
    return names


def _json(value: Any) -> bytes:
    # Perfetto shows escapes of code points as they are written, so there are as few as possible.
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    # Perfetto treats a quote after two backslashes as escaped.
    text = re.sub(r'(\\\\(?="))|\\.', lambda found: r"\u005c" if found[1] else found[0], text)
    return text.encode("utf-8", "backslashreplace")


def _finite(value: Any) -> Any:
    """The same without numbers that JSON cannot represent."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
