"""The reader of Kineto and Chrome JSON against plain Python: random documents, cut into pieces anywhere."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventide._native import ChromeDocument
from eventide.trace import Trace
from eventide.trace.formats.chrome import _reader
from eventide.trace.linking._categories import KNOWN
from tests.kineto_files import CALL, KERNEL, TRACES, event, real_trace, rows
from tests.reference.kineto_oracle import Oracle, build

NAMES = st.sampled_from(
    ["cudaLaunchKernel", "gemm", "ncclDevKernel_AllReduce", "Memcpy HtoD", "ProfilerStep#3", "a", "", 'q"\\é']
)
CATEGORIES = st.sampled_from(
    ["kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", "user_annotation", "ac2g", "fwdbwd", "disk", ""]
)
IDS = st.sampled_from([0, 1, 2, 7, "7", "main", -1, 2**63])
TIMES = st.one_of(
    st.integers(-5, 40),
    st.integers(0, 2**50),
    st.decimals(-10, 40, places=3).map(float),
    st.sampled_from([1712195495519689.125, 0.0004, 0.0006, 1e3, "12.5", "x", None, True, 10**40]),
)
VALUES = st.one_of(
    st.integers(-3, 5), st.floats(-2, 2, width=32), st.text(max_size=3), st.none(), st.lists(st.integers(), max_size=2)
)
ARGS = st.dictionaries(
    st.sampled_from(["correlation", "stream", "device", "k", "x", "Call"]),
    st.one_of(st.integers(0, 4), VALUES),
    max_size=4,
)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "X", "X", "B", "E", "i", "C", "s", "t", "f", "b", "n", "e", "S", "F", "M", "N", "Q"])},
    optional={
        "name": NAMES, "cat": CATEGORIES, "pid": IDS, "tid": IDS, "ts": TIMES, "dur": TIMES,
        "args": st.one_of(ARGS, st.none()),
        "id": st.integers(0, 3), "bp": st.just("e"), "junk": VALUES,
    },
)  # fmt: skip
DOCUMENTS = st.builds(
    lambda events, wrap, base: (
        {"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": events} if wrap else events
    ),
    st.lists(st.one_of(EVENTS, EVENTS, EVENTS, EVENTS, st.integers()), max_size=14).filter(
        lambda events: not events or any(isinstance(event, dict) for event in events)
    ),
    st.booleans(),
    st.sampled_from([0, 10**18]),
)


def _compare(trace: Trace, oracle: Oracle, *, edges: bool = True) -> None:
    spans = rows(trace, "spans")
    columns = ("name", "category", "start", "duration", "correlation")
    found = [(*(row[column] for column in columns), _args(row), row["submit"]) for row in spans]
    wanted = [(*(row[column] for column in columns), _plain(row["args"]), row["submit"]) for row in oracle.spans]
    if not edges:
        found, wanted = [row[:6] for row in found], [row[:6] for row in wanted]
    ordered = len(oracle.spans) - sum(span["track"][1] == "lane" for span in oracle.spans)
    assert found[:ordered] == wanted[:ordered]
    assert Counter(map(repr, found[ordered:])) == Counter(map(repr, wanted[ordered:]))
    places: dict[Any, int] = {}
    for row, span in zip(spans[:ordered], oracle.spans, strict=False):
        assert places.setdefault(span["track"], row["track"]) == row["track"]
    assert len(set(places.values())) == len(places)
    _compare_points(trace, oracle)
    if edges:
        assert _edges(trace) == Counter(map(repr, (tuple(edge.values()) for edge in oracle.edges)))


def _compare_points(trace: Trace, oracle: Oracle) -> None:
    instants = [(row["name"], row["time"], _args(row)) for row in rows(trace, "instants")]
    wanted = [(row["name"], row["time"], _plain(row["args"])) for row in oracle.instants]
    assert Counter(map(repr, instants)) == Counter(map(repr, wanted))
    counters = [(row["name"], row["time"], row["value"]) for row in rows(trace, "counters")]
    assert counters == [(row["name"], row["time"], row["value"]) for row in oracle.counters]


def _edges(trace: Trace) -> Counter[str]:
    names = trace.spans["name"].to_pylist()
    found = rows(trace, "edges", "kind", "from_span", "from_time", "to_span", "to_time")
    return Counter(repr((kind, _at(names, a), begin, _at(names, b), end)) for kind, a, begin, b, end in found)


def _at(names: list[str], row: int | None) -> str | None:
    return None if row is None else names[row]


def _args(row: dict[str, Any]) -> Any:
    return None if row["args"] is None else _plain(json.loads(row["args"], parse_float=Decimal))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Decimal) else value


@settings(deadline=None, max_examples=80)
@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]), st.lists(st.integers(0, 4000), max_size=6))
def test_every_document_reads_as_plain_python_reads_it(document, ascii_only, indent, cuts):
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    _compare(_reader.read_pieces(pieces, Path("random.json")), build(text))


@st.composite
def _programs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """What a program on three streams leaves behind when synchronization is recorded; some ids are missing or wrong."""
    events: list[dict[str, Any]] = []
    records: list[tuple[int, int]] = []
    for n in range(draw(st.integers(1, 16))):
        verb = draw(st.sampled_from(["launch", "launch", "record", "wait", "stream", "event", "query", "device"]))
        stream, device, host = draw(st.sampled_from([7, 20, 21])), draw(st.sampled_from([0, 0, 0, 1])), 10 * n
        ids = {"correlation": n + 1}
        row = {
            "ph": "X",
            "cat": "cuda_sync",
            "pid": device,
            "tid": stream,
            "ts": host + 1,
            "dur": draw(st.integers(0, 9)),
        }
        here = {"device": device, "stream": stream, **ids}
        call = {
            "launch": "cudaLaunchKernel",
            "record": "cudaEventRecord",
            "wait": "cudaStreamWaitEvent",
            "query": "cudaEventQuery",
        }
        name = call.get(verb, f"cuda{verb.capitalize()}Synchronize")
        events.append(
            {"ph": "X", "cat": "cuda_runtime", "name": f"{name}", "pid": 9, "tid": 9, "ts": host, "dur": 5, "args": ids}
        )
        of_record = draw(st.sampled_from(records)) if records else (7, 99)
        record = {
            "wait_on_stream": of_record[0],
            "wait_on_cuda_event_record_corr_id": of_record[1],
            "wait_on_cuda_event_id": 4,
        }
        if verb == "launch":
            time = {"ts": host + draw(st.integers(0, 80)), "dur": draw(st.integers(0, 30))}
            events.append({**row, **time, "cat": "kernel", "name": f"work {n}", "args": here})
        elif verb == "record":
            records.append((stream, draw(st.sampled_from([n + 1, n + 1, 0, -1]))))
        elif verb == "wait":
            events.append({**row, "name": "Stream Wait Event", "args": {**here, **record}})
        elif verb in {"event", "query"}:
            events.append({**row, "tid": -1, "name": "Event Sync", "args": {**here, "stream": -1, **record}})
        elif verb == "device":
            events.append({**row, "tid": -1, "name": "Context Sync", "args": {**here, "stream": -1}})
        else:
            events.append({**row, "name": "Stream Sync", "args": here})
    return draw(st.permutations(events))


@settings(deadline=None, max_examples=50)
@given(_programs())
def test_waits_and_synchronizations_are_linked_as_plain_python_links_them(events):
    text = json.dumps(events).encode()
    _compare(_reader.read_pieces([text], Path("random.json")), build(text))


SMALL = {
    "schemaVersion": 1,
    "baseTimeNanoseconds": 1000,
    "traceEvents": [
        event(CALL, "cudaLaunchKernel", 1.5, 2, correlation=4),
        event(KERNEL, "é😀\n", 4, 1e1, correlation=4, x=["😀", {}]),
        {"ph": "C", "name": "c", "pid": 1, "ts": 3, "args": {"value": -1.25e-2}},
    ],
    "after": {"deep": [[[]], {"a": None}, True]},
}  # fmt: skip


def test_a_document_may_be_split_at_every_byte():
    text = json.dumps(SMALL, ensure_ascii=False).replace("\\n", "\\ud83d\\ude00\\n").encode()
    oracle = build(text)
    _compare(_reader.read_pieces((text[i : i + 1] for i in range(len(text))), Path("bytes.json")), oracle)
    whole = _parse([text])
    assert whole[0] == "whole"
    for cut in range(len(text) + 1):
        assert _parse([text[:cut], text[cut:]]) == whole


def _parse(pieces: list[bytes]) -> tuple[Any, ...]:
    """How the core ends, what it counts, and every column of it."""
    document = ChromeDocument(KNOWN, 1 << 20)
    for piece in pieces:
        document.feed(piece)
    return document.finish(), document.account(), repr(document.columns())


SIZES = {path.name.removesuffix(".json.gz"): path.stat().st_size for path in TRACES.glob("*.json.gz")}
LARGE = 300_000  # compressed bytes
REAL = [
    pytest.param(name, marks=pytest.mark.heavy) if SIZES.get(name, 0) > LARGE else name
    for name in sorted(SIZES) or ["absent"]
]


@pytest.mark.parametrize("name", REAL)
def test_real_traces_read_as_plain_python_reads_them(name):
    path = real_trace(name)
    text = gzip.decompress(path.read_bytes())
    # In the large ones a plain search for the ends of arrows takes minutes.
    edges = SIZES[name] <= LARGE
    _compare(_reader.read(path), build(text, edges=edges), edges=edges)
