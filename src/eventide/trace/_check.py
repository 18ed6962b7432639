"""Trace.check: consistency of references, times, categories, arguments and the account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import UsageValueError
from eventide.trace._schema import CATEGORIES

if TYPE_CHECKING:
    from eventide.trace._trace import Trace

TRACK_KINDS = ("process", "thread", "stream", "counter", "other")
EDGE_KINDS = ("launch", "wait", "synchronize", "fwdbwd", "flow")
# Columns that hold row numbers of another table.
REFERENCES = (
    ("tracks", "parent", "tracks"),
    ("spans", "track", "tracks"),
    ("spans", "stack", "stacks"),
    ("instants", "track", "tracks"),
    ("instants", "stack", "stacks"),
    ("counters", "track", "tracks"),
    ("edges", "from_track", "tracks"),
    ("edges", "to_track", "tracks"),
    ("edges", "from_span", "spans"),
    ("edges", "to_span", "spans"),
    ("operations", "stack", "stacks"),
)
REQUIRED = {
    "tracks": ("kind",),
    "spans": ("track", "name", "category", "start"),
    "instants": ("track", "name", "category", "time"),
    "counters": ("track", "name", "time", "value"),
    "edges": ("kind", "from_time", "to_time"),
    "operations": ("hook", "time"),
    "stacks": ("frames",),
}
_WORDS = {
    ("tracks", "kind"): TRACK_KINDS,
    ("spans", "category"): tuple(CATEGORIES),
    ("instants", "category"): tuple(CATEGORIES),
    ("edges", "kind"): EDGE_KINDS,
}
_SHOWN = 5  # problems in the message


@dataclass(frozen=True)
class Checked:
    """Counts and times of a consistent trace."""

    rows: dict[str, int]  # of each table
    unfinished: int  # spans that had not ended when the recording did
    overlapping: int  # spans that overlap others of their track in part; viewers show them on lanes of their own
    first: int | None  # ns; the earliest start or time
    last: int | None  # ns; the latest end or time


def check(trace: Trace) -> Checked:
    """Counts and times of the trace; UsageValueError that names inconsistent rows."""
    found = list(problems(trace))
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise UsageValueError(f"the trace is inconsistent: {'; '.join(found[:_SHOWN])}{more}")
    from eventide.trace._columns import assign_lanes

    first, last = time_range(trace)
    return Checked(
        {name: table.num_rows for name, table in trace.tables.items()},
        trace.spans.column("duration").null_count,
        int(np.count_nonzero(assign_lanes(trace).lane() >= trace.tracks.num_rows)),
        first,
        last,
    )


def time_range(trace: Trace) -> tuple[int | None, int | None]:
    """The earliest and the latest time of the trace; None if it is empty."""
    starts, ends = [], []
    for table, column in (("spans", "start"), ("instants", "time"), ("counters", "time")):
        least_and_most = pc.min_max(trace.tables[table].column(column)).as_py()
        starts.append(least_and_most["min"])
        ends.append(least_and_most["max"])
    spans = trace.spans
    finished = pc.add(spans.column("start"), spans.column("duration"))
    ends.append(pc.max(finished).as_py())
    return (
        min((time for time in starts if time is not None), default=None),
        max((time for time in ends if time is not None), default=None),
    )


def problems(trace: Trace) -> Iterator[str]:
    """A sentence for each kind of inconsistency, with its first row."""
    yield from broken_references(trace)
    for (table, column), words in _WORDS.items():
        values = trace.tables[table].column(column).cast(pa.string())
        strange = pc.invert(pc.is_in(values, pa.array([*words, None], pa.string())))
        yield from _some(trace, table, column, strange, f"which is not one of {', '.join(words)}")
    yield from _times(trace)
    yield from _tracks(trace)
    yield from _ends_of_edges(trace)
    yield from _args(trace, "spans")
    yield from _args(trace, "instants")
    yield from _account(trace.metadata.get("account"))


def broken_references(trace: Trace) -> Iterator[str]:
    """Nulls in required columns, and references to missing rows."""
    tables = trace.tables
    for table, columns in REQUIRED.items():
        for column in columns:
            values = tables[table].column(column)
            if values.null_count:
                yield from _some(trace, table, column, pc.is_null(values), "is null")
    for table, column, target in REFERENCES:
        rows = tables[target].num_rows
        values = tables[table].column(column)
        ends = pc.min_max(values)
        if not ends["min"].is_valid or (ends["min"].as_py() >= 0 and ends["max"].as_py() < rows):
            continue  # one pass, where the masks below take four
        outside = pc.or_(pc.less(values, 0), pc.greater_equal(values, rows))
        yield from _some(trace, table, column, outside, f"and there are {rows} {target}")


def _some(trace: Trace, table: str, column: str, mask: pa.ChunkedArray, why: str) -> Iterator[str]:
    """One sentence about the selected rows, if there are any; a null in the mask selects nothing."""
    if not pc.any(mask).as_py():
        return
    rows = np.flatnonzero(pc.fill_null(mask, False).to_numpy())
    value = trace.tables[table].column(column)[int(rows[0])].as_py()
    others = f" (and {len(rows) - 1} rows more)" if len(rows) > 1 else ""
    problem = why if value is None else f"is {value!r}, {why}"
    yield f"{table}[{rows[0]}].{column} {problem}{others}"


def _times(trace: Trace) -> Iterator[str]:
    spans = trace.spans
    yield from _some(trace, "spans", "duration", pc.less(spans.column("duration"), 0), "which is negative")
    yield from _some(trace, "spans", "cpu", pc.less(spans.column("cpu"), 0), "which is negative")
    most = pc.subtract(pa.scalar(2**63 - 1), pc.max_element_wise(spans.column("start"), pa.scalar(0, pa.int64())))
    late = pc.greater(spans.column("duration"), most)
    yield from _some(trace, "spans", "duration", late, "so the end is beyond 63 bits of nanoseconds")


def _tracks(trace: Trace) -> Iterator[str]:
    """No track may be its own ancestor."""
    parents = trace.tracks.column("parent").to_pylist()
    for row in range(len(parents)):
        seen: set[int] = set()
        at: int | None = row
        while at is not None and 0 <= at < len(parents) and at not in seen:
            seen.add(at)
            at = parents[at]
        if at == row:
            yield f"tracks[{row}].parent leads back to itself"
            return


def _ends_of_edges(trace: Trace) -> Iterator[str]:
    """An edge that ends in a span ends on that span's track."""
    tracks = trace.spans.column("track").to_numpy()
    for end in ("from", "to"):
        spans = trace.edges.column(f"{end}_span")
        inside = pc.and_(pc.greater_equal(spans, 0), pc.less(spans, len(tracks)))
        picked = pc.fill_null(pc.if_else(inside, spans, None), 0).to_numpy()
        at = pa.chunked_array([pa.array(tracks[picked] if len(tracks) else picked)])
        other = pc.and_(inside, pc.not_equal(trace.edges.column(f"{end}_track"), at))
        yield from _some(trace, "edges", f"{end}_track", other, f"which is not the track of its {end}_span")


def _args(trace: Trace, table: str) -> Iterator[str]:
    """Arguments are JSON objects; each distinct text is parsed once."""
    column = trace.tables[table].column("args")
    wrong = [text for text in pc.unique(column).to_pylist() if text is not None and not _is_object(text)]
    if wrong:
        mask = pc.is_in(column, pa.array(wrong, pa.string()))
        yield from _some(trace, table, "args", mask, "which is not a JSON object")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _account(account: Any) -> Iterator[str]:
    """Counts of what was recorded, dropped and truncated are never negative, at any depth."""
    if not isinstance(account, dict):
        yield f"metadata['account'] is {account!r}, not a dict"
        return
    for key, value in account.items():
        if isinstance(value, dict):
            yield from (text.replace("['account']", f"['account'][{key!r}]", 1) for text in _account(value))
        elif isinstance(value, int | float) and value < 0:
            yield f"metadata['account'][{key!r}] is {value}, which is negative"
