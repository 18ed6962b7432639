"""Random traces, with odd names, overlaps, odd times and spans that never end: every format gives the same trace back.

What the files say to others is read by plain-Python decoders (tests/reference) and compared as well.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eventide as et
from eventide.trace import CATEGORIES
from tests.reference import chrome_events, perfetto_packets
from tests.reference.traces import ODD_NAMES, assert_same

names = st.sampled_from([*ODD_NAMES, "a", "b"]) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
times = st.integers(-50, 50) | st.integers(-(2**53), 2**53)
lengths = st.none() | st.integers(0, 40) | st.integers(0, 2**52)
maybe = st.none() | st.integers(0, 2**62)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | names
arguments = st.dictionaries(
    names | st.just("eventide") | st.just("stream"),
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
    ),
    max_size=3,
)
# Events of one name with arguments that differ in their numbers only are encoded from what is known of the one before.
numbers = (
    st.integers(-20, 20) | st.integers(-(10**19), 10**19) | st.sampled_from([0.5, -0.0, 1e30, True, None, "x", [1]])
)
repeated = st.tuples(
    st.sampled_from(['{"n": %s, "m":%s}', '{"n": %s, "m" :%s }', '{"eventide":%s,"n":%s}']), numbers, numbers
)
args = st.none() | repeated.map(lambda made: made[0] % (json.dumps(made[1]), json.dumps(made[2])))
args |= arguments.map(json.dumps) | arguments.map(lambda made: json.dumps(made, ensure_ascii=False))


@st.composite
def traces(draw: st.DrawFn) -> et.Trace:
    tracks = draw(
        st.lists(st.tuples(st.sampled_from(["process", "thread", "stream", "other"]), names), min_size=1, max_size=4)
    )
    row = st.integers(0, len(tracks) - 1)
    spans = draw(
        st.lists(
            st.tuples(row, names, st.sampled_from(list(CATEGORIES)), times, lengths, maybe, maybe, args), max_size=12
        )
    )
    instants = draw(st.lists(st.tuples(row, names, times, args), max_size=5))
    counters = draw(st.lists(st.tuples(row, names, times, st.floats(allow_nan=False)), max_size=5))
    span = st.none() | st.integers(0, len(spans) - 1) if spans else st.none()
    edges = draw(
        st.lists(st.tuples(st.sampled_from(["launch", "wait", "flow"]), row, times, span, row, times, span), max_size=6)
    )
    fixed = [
        (kind, spans[a][0] if a is not None else on, when, a, spans[b][0] if b is not None else to, then, b)
        for kind, on, when, a, to, then, b in edges
    ]
    devices = [f"sim:{i}" if kind == "stream" else None for i, (kind, _) in enumerate(tracks)]
    return et.Trace(
        {
            "tracks": {
                "kind": [kind for kind, _ in tracks],
                "name": [name for _, name in tracks],
                "pid": [draw(st.none() | st.integers(-1, 3)) for _ in tracks],
                "tid": [draw(st.none() | st.integers(-1, 3)) for _ in tracks],
                "device": devices,
                "stream": [draw(st.integers(0, 2)) if device else None for device in devices],
            },
            "spans": _columns(("track", "name", "category", "start", "duration", "submit", "work", "args"), spans),
            "instants": {
                **_columns(("track", "name", "time", "args"), instants),
                "category": ["span"] * len(instants),
            },
            "counters": _columns(("track", "name", "time", "value"), counters),
            "edges": _columns(
                ("kind", "from_track", "from_time", "from_span", "to_track", "to_time", "to_span"), fixed
            ),
        },
        {"source": "hypothesis", "account": {"dropped": 0}},
    )


def _columns(names: tuple[str, ...], rows: list[Any]) -> dict[str, Any]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def parsed(trace: et.Trace) -> et.Trace:
    """The same with its arguments as Python writes them: formats keep what they say, not every blank."""
    tables = {}
    for name in ("spans", "instants"):
        table = trace.tables[name]
        texts = [None if text is None else json.dumps(json.loads(text)) for text in table.column("args").to_pylist()]
        tables[name] = {**{column: table.column(column) for column in table.column_names}, "args": texts}
    return trace.replace(**tables)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
some = settings(suppress_health_check=slow, max_examples=25, deadline=None)


@pytest.mark.parametrize("suffix", [".parquet", ".pftrace", ".json"])
@some
@given(trace=traces())
def test_every_format_gives_the_same_trace_back(suffix, folder, trace):
    trace.check()
    back = et.open_trace(trace.save(folder / f"t{suffix}"))
    assert_same(parsed(back), parsed(trace))


@some
@given(trace=traces())
def test_the_perfetto_decoder_finds_every_row_of_the_trace(folder, trace):
    seen = perfetto_packets.read(trace.save(folder / "p.pftrace").read_bytes())
    base = min(
        0,
        *(row["start"] for row in trace.spans.to_pylist()),
        *(row["time"] for row in trace.instants.to_pylist()),
        *(row["time"] for row in trace.counters.to_pylist()),
        0,
    )
    assert sorted(seen.spans, key=repr) == sorted(
        ((r["name"], r["category"], r["start"] - base, r["duration"]) for r in trace.spans.to_pylist()), key=repr
    )
    assert sorted(seen.instants) == sorted((r["name"], r["time"] - base) for r in trace.instants.to_pylist())
    assert sorted(seen.counters) == sorted(
        (r["name"], r["time"] - base, r["value"]) for r in trace.counters.to_pylist()
    )


@some
@given(trace=traces())
def test_chrome_json_parses_nests_and_has_every_row_of_the_trace(folder, trace):
    document = json.loads(trace.save(folder / "c.json").read_bytes(), parse_constant=pytest.fail, parse_float=Decimal)
    seen = chrome_events.read(document)
    assert sorted(seen.spans, key=repr) == sorted(
        ((r["name"], r["start"], r["duration"]) for r in trace.spans.to_pylist()), key=repr
    )
    assert sorted(seen.instants) == sorted((r["name"], r["time"]) for r in trace.instants.to_pylist())
    assert len(seen.counters) == trace.counters.num_rows
    assert seen.crossings == []
