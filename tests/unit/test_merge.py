"""Recordings of several processes as one trace: what is added up, and the names of the processes."""

from __future__ import annotations

from typing import Any

import eventide as et
from eventide.analysis import View, memory, samples
from eventide.report._answers import process_memory
from eventide.trace import merge

MS = 1_000_000


def process(pid: int, rank: int | None, operators: int) -> et.Trace:
    """A recording with one sample and one value of its memory."""
    account = {"recorded": {"spans": operators}, "dropped": {}, "truncated": {}, "overhead": {"recording_ns": 5}}
    metadata: dict[str, Any] = {
        "source": "eventide",
        "pid": pid,
        "process": {"pid": pid, "rank": rank, "host": "h"},
        "account": account,
        "torch": {"operators": operators, "on_devices": 0, "imported": 0, "harvest_ns": 1, "profiled": ""},
        "warnings": [],
    }
    tracks = {
        "kind": ["other", "counter"], "name": ["samples of MainThread", "memory of the process"], "pid": [pid, pid],
    }  # fmt: skip
    instants = {"track": [0], "name": ["f"], "category": ["sample"], "time": [10 * MS], "stack": [0]}
    stacks = {"frames": [[{"function": "f", "file": "/p/a.py", "line": 1}]]}
    counters = {"track": [1], "name": ["RSS"], "time": [10 * MS], "value": [float(pid << 20)]}
    return et.Trace({"tracks": tracks, "instants": instants, "stacks": stacks, "counters": counters}, metadata)


def test_costs_and_counts_of_all_processes_are_added_up() -> None:
    merged = merge([process(11, None, 0), process(12, 0, 700), process(13, 1, 80)]).metadata
    assert merged["account"]["recorded"]["spans"] == 780
    assert merged["account"]["overhead"]["recording_ns"] == 15
    assert (merged["torch"]["operators"], merged["torch"]["harvest_ns"]) == (780, 3)


def test_threads_and_memory_have_the_names_of_their_processes() -> None:
    view = View(merge([process(11, None, 0), process(12, 0, 700), process(13, None, 0)]))
    names = {row.thread for row in samples(view).threads}
    assert names == {"MainThread", "MainThread of rank 0", "MainThread of process 13"}
    lines = process_memory(memory(view))
    assert [line.partition(",")[0] for line in lines] == ["process 13", "rank 0", "process 11"]


def test_the_memory_of_one_process_needs_no_name() -> None:
    (line,) = process_memory(memory(View(process(11, None, 0))))
    assert line.startswith("process, RSS")


def test_of_many_processes_the_largest_are_shown() -> None:
    lines = process_memory(memory(View(merge([process(pid, None, 0) for pid in range(1, 12)]))))
    assert len(lines) == 9
    assert lines[0].startswith("process 11,")
    assert lines[-1] == "and 3 more, which are smaller"
