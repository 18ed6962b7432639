"""Recordings of a device in virtual time: what the host did is put on that clock too.

Each time the host's virtual clock moves, `sim` records where it was and is as a counter, at the real time. In between
the virtual clock does not advance: the host's own code costs nothing there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eventide._util.virtual_clock import COUNTER
from eventide.trace._trace import Trace

Ints = npt.NDArray[np.int64]
_TIMES = {
    "instants": ("time",),
    "counters": ("time",),
    "operations": ("time",),
    "edges": ("from_time", "to_time"),
}


def on_virtual_clock(trace: Trace) -> Trace:
    """The trace with all times on the virtual clock, without the counters that say where it was.

    Where the program used other devices too, or several virtual clocks, the times stay and a warning says so.
    """
    counters = trace.counters
    mine = pc.starts_with(counters.column("name").cast(pa.string()), COUNTER)
    if counters.num_rows == 0 or not pc.any(mine).as_py():
        return trace
    rows = counters.filter(mine)
    trace = trace.replace(counters=counters.filter(pc.invert(mine)))
    real, clock = _numbers(rows.column("time")), np.rint(rows.column("value").to_numpy()).astype(np.int64)
    order = np.argsort(real, kind="stable")
    real, clock = real[order], np.maximum.accumulate(clock[order])
    begin = min(int(real[0]), _earliest_on_host(trace))
    problem = _problem(trace, rows, begin, int(clock[-1]))
    if problem is not None:
        warning = (
            f"host times are real and times of virtual devices are not: {problem}; durations across both mean nothing"
        )
        return trace.replace({"warnings": [*trace.metadata["warnings"], warning]})
    return _moved(trace, real, clock, begin)


def _numbers(column: pa.ChunkedArray, null: int = 0) -> Ints:
    values: Ints = pc.fill_null(column, null).to_numpy().astype(np.int64)
    return values


def _earliest_on_host(trace: Trace) -> int:
    """The first time of anything that is not on a stream: it is real."""
    threads = np.array([kind != "stream" for kind in trace.tracks.column("kind").to_pylist()], dtype=bool)
    found = [pc.min(trace.operations.column("time")).as_py()]
    for name, column in (("spans", "start"), ("instants", "time")):
        table = trace.tables[name]
        here = threads[_numbers(table.column("track"))] if table.num_rows else np.zeros(0, bool)
        found.append(pc.min(table.column(column).filter(pa.array(here))).as_py())
    return min((int(time) for time in found if time is not None), default=np.iinfo(np.int64).max)


def _problem(trace: Trace, rows: pa.Table, begin: int, last: int) -> str | None:
    """Why the times cannot be separated, or not put on one clock."""
    if len(pc.unique(rows.column("name"))) > 1:
        return "there are several virtual clocks"
    if last >= begin:
        return "the virtual time is as late as the real one"
    kinds = trace.tracks.column("kind").to_pylist()
    streams = np.array([kind == "stream" for kind in kinds], dtype=bool)
    spans = trace.spans
    work = pc.is_in(spans.column("category").cast(pa.string()), pa.array(["work", "copy", "kernel", "communication"]))
    here = streams[_numbers(spans.column("track"))] & work.to_numpy() if spans.num_rows else np.zeros(0, bool)
    if (_numbers(spans.column("start"))[here] >= begin).any():
        return "work ran on devices of both kinds"
    return None


def _moved(trace: Trace, real: Ints, clock: Ints, begin: int) -> Trace:
    def moved(at: Ints) -> Ints:
        place = np.searchsorted(real, at, side="right") - 1
        now = clock[np.maximum(place, 0)]
        found: Ints = np.where(at >= begin, now, at)
        return found

    tables: dict[str, Any] = {}
    for name, columns in _TIMES.items():
        table = trace.tables[name]
        for column in columns:
            table = _with(table, column, moved(_numbers(table.column(column))))
        tables[name] = table
    spans = trace.spans
    start = _numbers(spans.column("start"))
    end = start + _numbers(spans.column("duration"))
    spans = _with(spans, "start", moved(start))
    spans = _with(spans, "duration", moved(end) - moved(start))
    spans = _with(spans, "submit", moved(_numbers(spans.column("submit"))))
    # The time that the functions ran on a core is real; beside virtual durations it means nothing.
    place = spans.schema.get_field_index("cpu")
    tables["spans"] = spans.set_column(
        place, spans.schema.field(place), pa.nulls(spans.num_rows, spans.schema.field(place).type)
    )
    return trace.replace({"clock": {**trace.metadata["clock"], "name": "virtual"}}, **tables)


def _with(table: pa.Table, name: str, values: Ints) -> pa.Table:
    """The table with other values of a column; what was null stays null."""
    field, place = table.schema.field(name), table.schema.get_field_index(name)
    mask = pc.is_null(table.column(name)).to_numpy()
    return table.set_column(place, field, pa.array(values, field.type, mask=mask))
