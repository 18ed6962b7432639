"""Edges of synchronizations of a whole device: few, and enough to say what each waited for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import eventide as et
from eventide import _native
from eventide.analysis import syncs


def synchronizations(trace: et.Trace) -> list[tuple[int, int]]:
    """From the number of the work to that of the synchronization, both from 0."""
    rows = trace.spans.to_pylist()
    work = {row: n for n, row in enumerate(i for i, span in enumerate(rows) if span["category"] == "work")}
    sync = {row: n for n, row in enumerate(i for i, span in enumerate(rows) if span["category"] == "sync")}
    edges = [edge for edge in trace.edges.to_pylist() if edge["kind"] == "synchronize"]
    return [(work[edge["from_span"]], sync[edge["to_span"]]) for edge in edges]


def test_a_stream_without_new_work_has_no_edge_to_the_next_synchronization():
    with et.Recorder() as recorder:
        first, second = et.Stream("sim"), et.Stream("sim")
        first.submit(int)
        second.submit(int)
        et.synchronize("sim")
        second.submit(int)
        et.synchronize("sim")
    assert synchronizations(recorder.trace) == [(0, 0), (1, 0), (2, 1)]


def test_a_second_synchronization_without_new_work_reports_the_completed_work():
    with et.Recorder() as recorder:
        stream = et.Stream("sim", name="only")
        stream.submit(int)
        for _ in range(3):
            et.synchronize("sim")
    assert synchronizations(recorder.trace) == [(0, 0), (0, 1), (0, 2)]
    assert [sync.waited_for for sync in syncs(recorder.trace).each] == ["int"] * 3


def test_many_streams_and_synchronizations_have_few_edges():
    number = 300
    with et.Recorder() as recorder:
        for _ in range(number):
            et.Stream("sim").submit(int)
            et.synchronize("sim")
    kinds = Counter(recorder.trace.edges.column("kind").to_pylist())
    assert kinds["launch"] == number
    assert number <= kinds["synchronize"] <= 2 * number
    recorder.trace.check()


def test_columns_of_another_type_are_refused_and_not_converted():
    small = ("hook", "end", "outcome", "thread", "device", "name", "group", "stack")
    wide = ("time", "stream", "event", "version", "work", "start", "finish", "cpu")
    columns = {
        **{name: np.zeros(0, np.int32) for name in small},
        **{name: np.zeros(0, np.int64) for name in wide},
        **{name: np.zeros(0, np.uint64) for name in ("handle", "bytes")},
    }
    assert len(_native.derive_work(columns, [], 0, 0)["spans"]["start"]) == 0
    with pytest.raises(TypeError, match=r"time must be a contiguous array .* of type int64, not float64"):
        _native.derive_work({**columns, "time": np.zeros(0, np.float64)}, [], 0, 0)
    with pytest.raises(ValueError, match="work has another length"):
        _native.derive_work({**columns, "work": np.zeros(1, np.int64)}, [], 0, 0)
    with pytest.raises(ValueError, match="no column cpu"):
        _native.derive_work({name: column for name, column in columns.items() if name != "cpu"}, [], 0, 0)
