"""Perfetto's trace processor loads the files that Eventide writes: no error, no loss, exactly the rows of the trace."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from tests.integration import perfetto
from tests.integration.perfetto import trace_processor
from tests.reference.traces import ODD_NAMES, odd_names_trace, small_trace

pytestmark = pytest.mark.heavy


def big_trace(count: int = 20_000) -> et.Trace:
    """Three streams with work that overlaps on one of them, a thread with nested spans, arrows and a counter."""
    numbers = np.random.default_rng(7)
    start = np.sort(numbers.integers(10**12, 10**12 + 10**9, count))
    track = numbers.integers(1, 5, count)
    edges = numbers.integers(0, count, (500, 2))
    edges = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)  # from the earlier to the later
    edges = edges[start[edges[:, 0]] < start[edges[:, 1]]]
    return et.Trace(
        {
            "tracks": {
                "kind": ["process", "thread", "stream", "stream", "stream"],
                "name": ["python", "main", "a", "b", "c"],
                "parent": [None, 0, 0, 0, 0],
                "pid": [9] * 5,
                "tid": [None, 9, None, None, None],
                "device": [None, None, "cpu:0", "cpu:0", "sim:1"],
                "stream": [None, None, 1, 2, 3],
            },
            "spans": {
                "track": track,
                "name": [f"work {i % 97}" for i in range(count)],
                "category": ["work"] * count,
                "start": start,
                "duration": numbers.integers(0, 200_000, count),
                "work": np.arange(count),
                "args": [json.dumps({"i": i, "half": i / 2}) if i % 3 else None for i in range(count)],
            },
            "counters": {
                "track": [1] * 1000,
                "name": ["queue"] * 1000,
                "time": start[:1000],
                "value": np.arange(1000) / 4,
            },
            "edges": {
                "kind": ["wait"] * len(edges),
                "from_track": track[edges[:, 0]],
                "to_track": track[edges[:, 1]],
                "from_time": start[edges[:, 0]],
                "to_time": start[edges[:, 1]],
                "from_span": edges[:, 0],
                "to_span": edges[:, 1],
            },
        }
    )


@pytest.mark.parametrize("suffix", [".pftrace", ".json", ".json.gz"])
@pytest.mark.parametrize("make", [small_trace, big_trace], ids=["small", "big"])
def test_the_trace_processor_reads_exactly_the_rows_of_the_trace(make, suffix, tmp_path):
    trace = make()
    assert make is small_trace or trace.check().overlapping > 1000
    with trace_processor(trace.save(tmp_path / f"t{suffix}")) as processor:
        assert perfetto.lost(processor) == []
        assert perfetto.slices(processor) == perfetto.expected_slices(trace)
        assert perfetto.flows(processor) == perfetto.expected_flows(trace)
        suffix = "" if suffix == ".pftrace" else " value"  # Perfetto names JSON's counters by their argument as well
        assert perfetto.counters(processor) == perfetto.expected_counters(trace, suffix=suffix)


@pytest.mark.parametrize("suffix", [".pftrace", ".json", ".json.gz"])
def test_unusual_names_are_shown(suffix, tmp_path):
    # The tool that queries the trace processor splits answers at NUL, and cannot read a megabyte in one answer.
    names = tuple(name for name in ODD_NAMES if "\0" not in name)
    trace = odd_names_trace((*names, "long " * 200_000, "NUL \0 inside"))
    args = json.dumps({name: [name, "C:\\", "\\"] for name in names})
    trace = trace.replace(spans=trace.spans.set_column(11, "args", pa.array([args] * trace.spans.num_rows)))
    short = "from {} where length(name) < 1000 and name not like 'NUL%'"
    with trace_processor(trace.save(tmp_path / f"t{suffix}")) as processor:
        assert perfetto.lost(processor) == []
        seen = processor.query(f"select name, ts {short.format('slice')} and dur = 5")
        seen.sort(key=lambda row: row["ts"])
        assert [row["ts"] for row in seen] == [10 * i for i in range(len(names))]
        assert [row["name"] for row in seen] == [shown(name, suffix) for name in names]
        threads = processor.query(f"select name {short.format('thread')} and name != ''")
        read = {row["name"] for row in threads}
        assert read >= {shown(name, suffix) for name in names[1:] if name}  # thread 0 is Perfetto's own
        assert processor.query("select count() as n from slice where length(name) = 1000000") == [{"n": 2}]
        assert processor.query("select count() as n from slice where name like 'NUL%'") == [{"n": 2}]


def shown(name: str, suffix: str) -> str:
    """What Perfetto shows of a name: of JSON's strings it decodes only those that hold an escaped quote.

    So we write no escapes but those that JSON demands: of control characters and of the backslash.
    """
    if suffix == ".pftrace" or '"' in name:
        return name
    return json.dumps(name, ensure_ascii=False)[1:-1] or "[No name]"


def test_times_before_zero_are_moved(tmp_path):
    spans = {"track": [0, 0], "name": ["a", "b"], "category": ["span"] * 2, "start": [-500, 100], "duration": [100, 1]}
    trace = et.Trace({"tracks": {"kind": ["thread"], "pid": [1], "tid": [1]}, "spans": spans})
    with trace_processor(trace.save(tmp_path / "t.pftrace")) as processor:
        assert perfetto.lost(processor) == []
        assert perfetto.slices(processor) == perfetto.expected_slices(trace, base=-500)


def test_names_of_processes_threads_and_streams_are_shown(tmp_path):
    with trace_processor(small_trace().save(tmp_path / "t.pftrace")) as processor:
        assert {"pid": 77, "name": "python train.py"} in processor.query("select pid, name from process")
        assert {"tid": 771, "name": "MainThread"} in processor.query("select tid, name from thread")
        tracks = {row["name"] for row in processor.query("select name from track")}
        assert {"load", "train"} <= tracks
        kept = processor.query("select str_value from metadata where name = 'cr-eventide'")
        assert json.loads(kept[0]["str_value"])["metadata"]["account"] == small_trace().metadata["account"]


def test_our_allocations_are_in_chrome_json_as_torch_profiler_writes_them(tmp_path):
    with et.Recorder() as recorder:
        et.empty(1000, device="cpu").free()
    with trace_processor(recorder.trace.save(tmp_path / "t.json")) as processor:
        assert perfetto.lost(processor) == []
        changes = processor.query(
            "select int_value as n from slice join args using (arg_set_id)"
            " where name = '[memory]' and key = 'args.Bytes' order by ts"
        )
        assert [row["n"] for row in changes] == [1000, -1000]
