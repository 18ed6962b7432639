"""A part of a trace in time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.trace._trace import Trace


def cut(trace: Trace, first: int, last: int) -> Trace:
    """The rows that overlap first..last; edges lose spans outside of it, tracks and stacks stay."""
    spans = trace.spans
    begins = spans.column("start")
    ends = pc.fill_null(pc.add(begins, spans.column("duration")), 2**63 - 1)
    keep = pc.and_(pc.less_equal(begins, last), pc.greater_equal(ends, first))
    rows = np.full(len(spans), -1, np.int64)
    kept = np.flatnonzero(keep.to_numpy())
    rows[kept] = np.arange(len(kept))
    tables = {"spans": spans.filter(keep)}
    for name in ("instants", "counters", "operations"):
        time = trace.tables[name].column("time")
        inside = pc.and_(pc.greater_equal(time, first), pc.less_equal(time, last))
        tables[name] = trace.tables[name].filter(inside)
    edges = trace.edges
    overlaps = pc.and_(pc.less_equal(edges.column("from_time"), last), pc.greater_equal(edges.column("to_time"), first))
    edges = edges.filter(overlaps)
    for name in ("from_span", "to_span"):
        old = edges.column(name)
        picked = pc.fill_null(old, 0).to_numpy()
        new = rows[picked] if len(rows) else np.full(len(picked), -1, np.int64)
        gone = (new < 0) | old.is_null().to_numpy()
        edges = edges.set_column(edges.schema.get_field_index(name), edges.schema.field(name), pa.array(new, mask=gone))
    return trace.replace(edges=edges, **tables)
