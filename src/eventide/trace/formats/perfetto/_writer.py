"""The writer of .pftrace: Perfetto's protobuf, the first choice for viewing.

Spans, instants and counters are track events (encoded natively), edges are flows, tracks are descriptors. What
Perfetto has no place for is in packets that only our reader reads, so that the trace can be restored: the tables
tracks, edges, stacks and operations as they are, and the order of rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eventide import _native
from eventide.trace._check import time_range
from eventide.trace._columns import (
    Ints,
    assign_lanes,
    counter_columns,
    edge_columns,
    instant_columns,
    require_sound,
    span_columns,
    stack_texts,
    texts,
)
from eventide.trace._trace import Trace
from eventide.trace.formats.parquet import to_bytes
from eventide.trace.formats.perfetto._proto import field
from eventide.trace.formats.perfetto._tracks import describe_tracks

VERSION = 1
# Fields of a packet. Perfetto shows the first as metadata and ignores the other.
CHROME_EVENTS, OUR_TABLE = 5, 19_019
KEPT = ("tracks", "edges", "stacks", "operations")


def write(trace: Trace, path: Path) -> None:
    """Write the file."""
    require_sound(trace)
    lanes = assign_lanes(trace)
    spans, span_names = span_columns(trace)
    instants, instant_names, instant_order = instant_columns(trace)
    counters, series, counter_order = counter_columns(trace)
    # One dictionary for both tables: the codes of instants follow those of spans.
    for name in ("name", "category"):
        codes = instants[name]
        instants[name] = np.where(codes >= 0, codes + len(span_names[name]), -1).astype(np.int32)
    names = {
        "names": texts(pa.chunked_array([span_names["name"], instant_names["name"]])),
        "categories": texts(pa.chunked_array([span_names["category"], instant_names["category"]])),
        "outcomes": texts(span_names["outcome"]),
        "places": texts(pa.array(stack_texts(trace.stacks), pa.string())),
    }
    first = time_range(trace)[0] or 0
    base = min(first, 0)
    about: dict[str, Any] = {"version": VERSION, "base": base, "metadata": trace.metadata}
    about |= {"lanes": lanes.track().tolist(), "series": series}
    about["rows"] = {name: trace.tables[name].num_rows for name in ("spans", "instants", "counters")}
    first_track = _first_uuid(about)
    about["first_track"] = first_track
    tables = {"spans": spans, "instants": instants, "counters": counters, "edges": edge_columns(trace)}
    orders = {"spans": lanes.order(), "instants": instant_order, "counters": counter_order}
    with path.open("wb") as file:
        file.write(field(1, field(CHROME_EVENTS, field(2, field(1, "eventide") + field(2, json.dumps(about))))))
        for name, data in _kept(trace, orders):
            file.write(field(1, field(OUR_TABLE, field(1, name) + field(2, data))))
        for descriptor in describe_tracks(trace, lanes.track(), series, first_track):
            file.write(field(1, descriptor))
        _native.write_pftrace(file.write, lanes, tables, names, base, first, first_track)


def _first_uuid(about: dict[str, Any]) -> int:
    """Two files that are opened together have different tracks; the same trace written twice is the same file."""
    digest = hashlib.blake2b(json.dumps(about).encode(), digest_size=5).digest()
    return int.from_bytes(digest, "big") << 22


def _kept(trace: Trace, orders: dict[str, Ints]) -> Iterator[tuple[str, bytes]]:
    for name in KEPT:
        if trace.tables[name].num_rows:
            yield name, to_bytes(trace.tables[name])
    for name, order in orders.items():
        if not np.array_equal(order, np.arange(len(order))):
            yield f"order of {name}", to_bytes(pa.table({"row": order}))
