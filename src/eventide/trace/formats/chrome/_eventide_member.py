"""The member `eventide` of Chrome JSON: columns that the events lack, as Parquet; written and restored.

Names, times and arguments are in the events, in the order of the file; the rest of each row is here.
"""

from __future__ import annotations

import base64
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.trace._columns import Ints
from eventide.trace._trace import Trace
from eventide.trace.formats.parquet import from_bytes, to_bytes

VERSION = 1
# Columns that the events contain.
IN_EVENTS = {
    "spans": ("name", "start", "duration", "args"),
    "instants": ("name", "time", "args"),
    "counters": ("time",),
}
WHOLE = ("tracks", "edges", "stacks", "operations")
# Ours are the last of the arguments: an object without braces inside, and what we added for other tools.
_OURS = r',?"eventide":\{[^{}]*\}(,"[a-z]+":-?[0-9]+)*\}$'
_TORCHS = r'^\{"cat":"cpu_instant_event",?'  # added by the reader, as it is not one of its categories
_HIDDEN = r'"eventide":\{(.*,)?"args":"'


def describe(trace: Trace, orders: dict[str, Ints]) -> dict[str, Any]:
    """The member `eventide`: whole tables, or the columns that the events do not contain."""
    tables = {}
    for name in WHOLE:
        if trace.tables[name].num_rows:
            tables[name] = _text(trace.tables[name])
    for name, columns_there in IN_EVENTS.items():
        table = trace.tables[name]
        if name == "counters" and not pc.all(pc.is_finite(table.column("value"))).as_py():
            tables[name] = _text(table)  # JSON has no such numbers
        elif table.num_rows:
            columns = [column for column in table.column_names if column not in columns_there]
            rest = table.select([column for column in columns if table.column(column).null_count < table.num_rows])
            if not np.array_equal(orders[name], np.arange(table.num_rows)):
                rest = rest.take(orders[name])
            tables[name] = _text(rest.append_column("row", pa.array(orders[name])))
    return {"version": VERSION, "metadata": trace.metadata, "tables": tables}


def is_own(member: object) -> TypeGuard[dict[str, Any]]:
    """True if this member of a file was written by `describe`."""
    return isinstance(member, dict) and {"version", "metadata", "tables"} <= set(member)


def restore(read: Trace, own: dict[str, Any]) -> Trace:
    """The trace that was written, from what a reader of Chrome's JSON made of the events and the member `eventide`.

    If the events differ from those that were written (the file was edited), the reader's trace stays as it
    is, with a warning.
    """
    if own.get("version") != VERSION:
        return _as_read(read, f"it was written by another version of Eventide ({own.get('version')})")
    kept = {name: from_bytes(base64.b64decode(text)) for name, text in own["tables"].items()}
    tables: dict[str, Any] = {name: kept[name] for name in WHOLE if name in kept}
    for name, columns_there in IN_EVENTS.items():
        rest = kept.get(name)
        if rest is None:
            continue
        if "row" not in rest.column_names:
            tables[name] = rest
            continue
        events = read.tables[name]
        if events.num_rows < rest.num_rows or (name == "spans" and events.num_rows > rest.num_rows):
            return _as_read(read, f"there are {events.num_rows} {name} and {rest.num_rows} were written")
        back = np.argsort(rest.column("row").to_numpy())
        columns = {column: rest.column(column).take(back) for column in rest.column_names if column != "row"}
        for column in columns_there:  # rows from other events, such as counters of memory, follow
            columns[column] = events.column(column).slice(0, rest.num_rows).take(back)
        if "args" in columns:
            columns["args"] = strip(columns["args"])
        tables[name] = columns
    return Trace(tables, own["metadata"])


def strip(args: pa.ChunkedArray) -> pa.ChunkedArray:
    """Arguments without ours; null if there were no others."""
    args = pc.replace_substring_regex(args, _TORCHS, "{")
    hidden = pc.match_substring_regex(args, _HIDDEN)
    plain = pc.replace_substring_regex(args, _OURS, "}")
    plain = pc.if_else(pc.equal(plain, "{}"), None, plain)
    if not pc.any(hidden).as_py():
        return plain
    import json

    rows = zip(args.to_pylist(), plain.to_pylist(), hidden.to_pylist(), strict=True)
    return pa.chunked_array([[json.loads(text)["eventide"]["args"] if inside else rest for text, rest, inside in rows]])


def _as_read(read: Trace, why: str) -> Trace:
    warning = f"columns that only Eventide writes were left out: {why}"
    return read.replace({"warnings": [*read.metadata["warnings"], warning]})


def _text(table: pa.Table) -> str:
    return base64.b64encode(to_bytes(table)).decode()
