"""Recordings of several processes of one machine as one trace: to look at them on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide.errors import UsageValueError
from eventide.trace._schema import SCHEMAS
from eventide.trace._trace import Trace

# Columns with row numbers, and the table that they refer to.
_REFERENCES = {
    "tracks": {"parent": "tracks"},
    "spans": {"track": "tracks", "stack": "stacks"},
    "instants": {"track": "tracks", "stack": "stacks"},
    "counters": {"track": "tracks"},
    "edges": {"from_track": "tracks", "to_track": "tracks", "from_span": "spans", "to_span": "spans"},
    "stacks": {},
}
_OWN_NUMBERS = {"spans": ("work", "correlation"), "edges": ("event", "correlation")}  # each process counts by itself
_COUNTS = ("recorded", "dropped", "truncated")
_COSTS = ("recording_ns", "drainer_cpu_ns")
_OF_TORCH = ("operators", "on_devices", "imported", "harvest_ns")


def merge(traces: Sequence[Trace]) -> Trace:
    """One trace with the tracks of all. Operations are left out: a check is about one process.

    All must be on one clock, which those of one machine are.
    """
    if not traces:
        raise UsageValueError("merge() needs at least one trace")
    hosts = {trace.metadata.get("process", {}).get("host") for trace in traces}
    if len(hosts) > 1:
        names = ", ".join(sorted(map(str, hosts)))
        raise UsageValueError(f"recordings of {names} are on different clocks; use eventide job, which aligns them")
    parts: dict[str, list[pa.Table]] = {name: [] for name in _REFERENCES}
    rows = dict.fromkeys(_REFERENCES, 0)
    first_free = 0
    for trace in traces:
        tables = trace.tables
        for name, parents in _REFERENCES.items():
            moved = {column: rows[target] for column, target in parents.items()}
            moved |= dict.fromkeys(_OWN_NUMBERS.get(name, ()), first_free)
            parts[name].append(_moved(tables[name], moved))
        first_free += 1 + max(
            _largest(tables[name], column) for name, all_of in _OWN_NUMBERS.items() for column in all_of
        )
        for name in rows:
            rows[name] += tables[name].num_rows
    joined = {name: pa.concat_tables(each).unify_dictionaries().combine_chunks() for name, each in parts.items()}
    return Trace({**joined, "operations": SCHEMAS["operations"].empty_table()}, _metadata(traces))


def _moved(table: pa.Table, by: Mapping[str, int]) -> pa.Table:
    """The table with these columns increased; null remains null."""
    for column, amount in by.items():
        if amount:
            index = table.schema.get_field_index(column)
            kind = table.schema.field(index)
            table = table.set_column(index, kind, pc.add(table.column(column), pa.scalar(amount, kind.type)))
    return table


def _largest(table: pa.Table, column: str) -> int:
    found = pc.max(table.column(column)).as_py()
    return int(found) if found is not None else 0


def _metadata(traces: Sequence[Trace]) -> dict[str, Any]:
    """That of the first, with the sums of the accounts and the warnings of all."""
    every = [trace.metadata for trace in traces]
    account: dict[str, Any] = dict(every[0]["account"])
    for kind in _COUNTS:
        tables = [one["account"].get(kind, {}) for one in every]
        account[kind] = {name: sum(one.get(name, 0) for one in tables) for name in tables[0]}
    overheads = [one["account"].get("overhead", {}) for one in every]
    if any(overheads):
        account["overhead"] = {**overheads[0], **_sums(overheads, _COSTS)}
    torch = [one["torch"] for one in every if "torch" in one]
    warnings = [
        f"process {one.get('pid')}: {line}" if number else line
        for number, one in enumerate(every)
        for line in one["warnings"]
    ]
    return {
        **every[0],
        **({"torch": {**torch[0], **_sums(torch, _OF_TORCH)}} if torch else {}),
        "account": account,
        "warnings": warnings,
        "processes": [one.get("process", {}) for one in every],
    }


def _sums(tables: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    return {name: sum(one.get(name, 0) for one in tables) for name in names}
