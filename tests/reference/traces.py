"""Small traces made by hand, and what it means that two traces are the same."""

from __future__ import annotations

from typing import Any

import eventide as et
from eventide.trace import SCHEMAS

ODD_NAMES = (
    'quote " backslash \\',
    "two\nlines\ttab\r",
    "NUL \0 inside",
    "emoji \U0001f30a",
    "</script><!--",
    "'; drop table spans --",
    "\x1b[31mred",
    "\u2028\u2029\ufeff",
    "",
)


def small_trace(**changes: Any) -> et.Trace:
    """A host thread that launches work on two streams, one of which waits for the other; something of everything."""
    tables: dict[str, Any] = {
        "tracks": {
            "kind": ["process", "thread", "stream", "stream", "counter"],
            "name": ["python train.py", "MainThread", "load", "train", "memory"],
            "parent": [None, 0, 0, 0, 0],
            "pid": [77, 77, 77, 77, 77],
            "tid": [None, 771, None, None, None],
            "device": [None, None, "cpu:0", "cpu:0", None],
            "stream": [None, None, 3, 4, None],
            "rank": [0, 0, 0, 0, 0],
        },
        "spans": {
            "track": [1, 2, 3, 1, 1],
            "name": ["step", "copy batch", "forward", "synchronize", "unfinished"],
            "category": ["step", "work", "work", "sync", "span"],
            "start": [1_000, 1_500, 2_500, 2_600, 4_000],
            "duration": [2_500, 1_000, 800, 700, None],
            "submit": [None, 1_200, 1_300, None, None],
            "cpu": [None, 900, 790, None, None],
            "work": [1, 10, 11, None, None],
            "outcome": [None, "ok", "ok", None, None],
            "stack": [0, 0, 1, None, None],
            "args": ['{"batch": 32, "who": "a \\"b\\""}', None, '{"shape": [2, 3], "lr": 0.5, "on": true}', None, None],
        },
        "instants": {
            "track": [1, 3],
            "name": ["spike", "error"],
            "category": ["span", "work"],
            "time": [1_100, 3_300],
            "stack": [None, 1],
            "args": [None, '{"message": "no"}'],
        },
        "counters": {
            "track": [4, 4, 1],
            "name": ["allocated", "allocated", "queue"],
            "time": [1_000, 2_000, 2_100],
            "value": [0.0, 4096.0, 2.5],
        },
        "edges": {
            "kind": ["launch", "launch", "wait", "synchronize"],
            "from_track": [1, 1, 2, 3],
            "from_time": [1_200, 1_300, 2_500, 3_300],
            "from_span": [0, 0, 1, 2],
            "to_track": [2, 3, 3, 1],
            "to_time": [1_500, 2_500, 2_500, 3_300],
            "to_span": [1, 2, 2, 3],
            "event": [None, None, 5, None],
            "version": [None, None, 1, None],
        },
        "operations": {
            "hook": ["work_submission", "event_record", "stream_synchronization"],
            "end": [None, None, True],
            "time": [1_200, 1_250, 3_300],
            "thread": [771, 771, 771],
            "device": ["cpu:0", "cpu:0", "cpu:0"],
            "stream": [3, 3, 4],
            "event": [None, 5, None],
            "version": [None, 1, None],
            "work": [10, None, None],
            "name": ["copy batch", None, None],
            "accesses": [[{"address": 2**63, "bytes": 64, "write": True}], None, []],
        },
        "stacks": {
            "frames": [
                [{"file": "train.py", "line": 7, "function": "main"}],
                [{"file": "net.py", "line": 3, "function": "f"}, {"file": "train.py", "line": 8, "function": "main"}],
            ]
        },
    }
    metadata = {
        "source": "by hand",
        "clock": {"name": "monotonic", "residual": 12},
        "account": {"recorded": {"spans": 5}, "dropped": {"spans": 0}},
        "warnings": ["none really"],
        "rank": 0,
    }
    return et.Trace({**tables, **changes}, metadata)


def odd_names_trace(names: tuple[str, ...] = ODD_NAMES) -> et.Trace:
    """Every odd name as the name of everything that has one."""
    count = len(names)
    tracks = range(count)
    return et.Trace(
        {
            "tracks": {"kind": ["thread"] * count, "name": names, "pid": [1] * count, "tid": list(tracks)},
            "spans": {
                "track": list(tracks),
                "name": names,
                "category": ["span"] * count,
                "start": [10 * i for i in tracks],
                "duration": [5] * count,
            },
            "instants": {"track": list(tracks), "name": names, "category": ["span"] * count, "time": list(tracks)},
            "counters": {"track": list(tracks), "name": names, "time": list(tracks), "value": [1.5] * count},
        }
    )


def rows(trace: et.Trace, table: str) -> list[dict[str, Any]]:
    return trace.tables[table].to_pylist()


def assert_same(one: et.Trace, other: et.Trace) -> None:
    """Row by row: chunks and the order of dictionaries are no difference."""
    for table in SCHEMAS:
        assert rows(one, table) == rows(other, table), table
    assert one.metadata == other.metadata
