"""Sequences that repeat, graphs as units, and ranges with hardware counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.analysis import breakdown, counter_ranges, graphs, sequences
from tests.kineto_files import CALL, KERNEL, event, read, real_trace
from tests.reference.raw_events import raw_events, work_of
from tests.trace_builder import Builder


def chain(names: list[str], lengths: int = 4000) -> Builder:
    b = Builder()
    for number, name in enumerate(names):
        at = number * 10_000
        b.launch((at, at + 3000), name, at + 5000, at + 5000 + (50_000 if name == "long" else lengths))
    return b


def test_a_sequence_that_repeats_is_counted_with_what_one_launch_would_save() -> None:
    found = sequences(chain(["a", "b", "c", "long"] * 5).trace())
    (row,) = found.rows
    assert (row.kernels, row.count, row.launches_saved) == (("a", "b", "c"), 5, 10)
    assert (row.time, row.gaps, row.calls) == (5 * 3 * 4000, 5 * 2 * 6000, 5 * 2 * 3000)
    assert found.short == 15


def test_occurrences_do_not_overlap() -> None:
    rows = sequences(chain(["a"] * 24).trace()).rows
    assert {len(row.kernels): row.count for row in rows} == {6: 4, 4: 6, 3: 8, 2: 12}  # five are in six


def test_kernels_that_are_long_or_never_repeat_have_no_sequence() -> None:
    assert sequences(chain(["long"] * 30).trace()).heading == "the trace has no kernels under 10.0 us"
    assert sequences(chain(["a", "b", "c", "long"] * 3).trace()).rows == ()


def test_the_most_frequent_pair_of_a_real_trace_is_that_of_the_raw_events() -> None:
    path = real_trace("nvidia_training_rank0")
    work = sorted((w for w in work_of(path)), key=lambda w: w["start"])
    pair = next(row for row in sequences(et.open_trace(path)).rows if len(row.kernels) == 2)
    count, last = 0, -2
    for index in range(len(work) - 1):
        two = work[index : index + 2]
        short = all(w["cat"] == "kernel" and w["end"] - w["start"] < 10_000 for w in two)
        if short and tuple(w["name"] for w in two) == pair.kernels and index >= last + 2:
            count, last = count + 1, index
    assert pair.count == count > 100


def test_the_launches_of_a_graph_are_units() -> None:
    path = real_trace("amd_mi300_flux")
    calls = [e for e in raw_events(path) if e["name"] == "hipGraphLaunch"]
    first = min(calls, key=lambda e: e["start"])
    works = [w for w in work_of(path) if w["args"].get("correlation") == first["args"]["correlation"]]
    found = graphs(et.open_trace(path))
    (row,) = found.rows
    assert (found.launches, row.launches, row.works) == (len(calls), 4, len(works))
    assert row.call == pytest.approx(sum(e["end"] - e["start"] for e in calls) / len(calls))
    spans = []
    for call in calls:
        mine = [w for w in work_of(path) if w["args"].get("correlation") == call["args"]["correlation"]]
        spans.append(max(w["end"] for w in mine) - min(w["start"] for w in mine))
    assert row.span == pytest.approx(sum(spans) / len(spans))
    assert row.saved == sum(len(works) - 1 for _ in calls)


def test_graphs_with_ids_are_grouped_by_them_and_captures_are_counted() -> None:
    b = Builder()
    b.call("cudaStreamBeginCapture", 0, 5)
    for number, at in ((1, 100), (2, 200), (1, 300)):
        call = b.call("cudaGraphLaunch", at, at + 10)
        for place in range(2):
            b.edge(
                "launch",
                call,
                b.work("k", at + 20 + 20 * place, at + 30 + 20 * place, args=f'{{"graph id": {number}}}'),
            )
    b.call("cudaGraphLaunch", 400, 410)
    found = graphs(b.trace())
    assert [(row.graph, row.launches, row.works, row.span, row.busy) for row in found.rows] == [
        ("id 1", 2, 2, 30.0, 20.0),
        ("id 2", 1, 2, 30.0, 20.0),
    ]
    assert (found.launches, found.captures, found.untied) == (4, 1, 1)


def test_without_a_launch_of_a_graph_there_is_none() -> None:
    found = graphs(et.open_trace(real_trace("nvidia_training_rank0")))
    assert (found.rows, found.heading) == ((), "no launch of a graph is recorded")


def counted(tmp_path: Path, *, ranges: int) -> et.Trace:
    op = {"ph": "X", "cat": "cpu_op", "pid": 9, "tid": 9}
    events: list[dict[str, Any]] = []
    for number in range(2):
        at = 100 * number
        events += [
            event(op, f"aten::op{number}", at, 50),
            event(CALL, "cudaLaunchKernel", at + 10, 5, correlation=number + 1),
            event(KERNEL, f"kernel{number}", at + 20, 10, correlation=number + 1, device=0, stream=7),
        ]
    base = {"ph": "X", "cat": "cuda_profiler_range", "pid": 0, "tid": 0}
    for number in range(ranges):
        args = {"smsp__inst_executed.sum": 100 + number, "dram__bytes.sum": 4.5}
        events.append({**event(base, "range", 100 * number + 20, 10), "args": args})
    return read(tmp_path / "t.json", json.loads(json.dumps({"schemaVersion": 1, "traceEvents": events})))


def test_each_range_is_that_of_a_kernel_where_there_are_as_many(tmp_path: Path) -> None:
    found = counter_ranges(counted(tmp_path, ranges=2))
    assert found.by_kernel
    assert [(row.metric, row.operator, row.total) for row in found.rows] == [
        ("dram__bytes.sum", "aten::op0", 4.5),
        ("dram__bytes.sum", "aten::op1", 4.5),
        ("smsp__inst_executed.sum", "aten::op1", 101.0),
        ("smsp__inst_executed.sum", "aten::op0", 100.0),
    ]
    (device,) = breakdown(counted(tmp_path, ranges=2)).devices
    assert device.whole.busy == 20_000  # the ranges are no work


def test_ranges_that_are_not_one_a_kernel_have_no_operator(tmp_path: Path) -> None:
    found = counter_ranges(counted(tmp_path, ranges=3))
    assert [(row.operator, row.count, row.total, row.mean) for row in found.rows if row.metric[0] == "s"] == [
        (None, 3, 303.0, 101.0)
    ]
    assert "not one a kernel" in found.heading


def test_a_trace_without_counters_has_no_ranges() -> None:
    assert counter_ranges(et.open_trace(real_trace("nvidia_sampled_rank0"))).heading.startswith(
        "the trace has no ranges"
    )
