from __future__ import annotations

import pytest

from eventide import UsageValueError
from eventide.analysis import CriticalPath, critical_path
from eventide.trace import Trace
from tests.trace_builder import Builder


def pieces(path: CriticalPath) -> list[tuple[int, int, str, str]]:
    """(start, end, kind, name), checked to lie end to end over the whole window."""
    rows = path.table.to_pylist()
    at = path.start
    for row in rows:
        assert row["start"] == at
        at += row["duration"]
    assert at == path.start + path.wall
    assert sum(path.kinds.values()) == path.wall
    return [(row["start"], row["start"] + row["duration"], row["kind"], row["name"]) for row in rows]


def test_a_late_host_is_the_path_and_a_full_queue_is_not():
    b = Builder()
    b.span(b.thread(), "aten::add", 0, 10)
    b.launch((5, 8), "first", 12, 40)
    second = b.launch((20, 23), "second", 41, 70)
    sync = b.call("cudaDeviceSynchronize", 25, 75, category="sync")
    b.edge("synchronize", second, sync)
    assert pieces(critical_path(b.trace())) == [
        (0, 5, "host", "aten::add"),
        (5, 12, "launch", "first"),
        (12, 40, "compute", "first"),
        (40, 41, "queued", "second"),
        (41, 70, "compute", "second"),
        (70, 75, "sync return", "cudaDeviceSynchronize"),
    ]


def test_the_path_crosses_streams_at_the_event_that_was_waited_for():
    b = Builder()
    b.launch((0, 2), "copy", 3, 50, stream=20, category="copy")
    b.launch((2, 4), "early", 5, 10)
    waiting = b.launch((4, 6), "late", 52, 60)
    b.edge("wait", 1, waiting)
    found = pieces(critical_path(b.trace()))
    assert found == [
        (0, 3, "launch", "copy"),
        (3, 50, "copy", "copy"),
        (50, 52, "stream wait", "late"),
        (52, 60, "compute", "late"),
    ]


def test_a_synchronization_that_did_not_wait_is_the_hosts_own_time():
    b = Builder()
    b.launch((0, 2), "k", 2, 10)
    sync = b.call("cudaStreamSynchronize", 30, 35, category="sync")
    b.edge("synchronize", 1, sync)
    assert pieces(critical_path(b.trace()))[-1] == (30, 35, "host", "cudaStreamSynchronize")


def test_a_copy_of_pageable_memory_blocks_though_its_name_says_async():
    b = Builder()
    b.launch((0, 2), "k", 2, 50)
    call = b.call("cudaMemcpyAsync", 5, 60)
    copy = b.work("Memcpy DtoH (Device -> Pageable)", 51, 55, category="copy")
    b.edge("launch", call, copy)
    b.call("cudaEventQuery", 3, 4)  # shows that calls are recorded that launch nothing
    assert [piece[2:] for piece in pieces(critical_path(b.trace()))] == [
        ("launch", "k"),
        ("compute", "k"),
        ("queued", "Memcpy DtoH (Device -> Pageable)"),
        ("copy", "Memcpy DtoH (Device -> Pageable)"),
        ("sync return", "cudaMemcpyAsync"),
    ]


def test_a_thread_that_runs_the_backward_pass_is_one_line_with_the_thread_that_waits_for_it():
    b = Builder()
    b.span(b.thread(1), "forward", 0, 20)
    forward = b.span(b.thread(1), "aten::mm", 5, 15)
    b.span(b.thread(1), "backward()", 20, 90)
    backward = b.span(b.thread(2), "MmBackward", 30, 80)
    b.edge("fwdbwd", forward, backward)
    assert [piece[2:] for piece in pieces(critical_path(b.trace()))] == [
        ("host", "forward"),
        ("host", "aten::mm"),
        ("host", "forward"),
        ("host", "backward()"),
        ("host", "MmBackward"),
        ("host", "backward()"),
    ]


def test_what_no_thread_recorded_is_said_so():
    b = Builder()
    b.span(b.thread(), "a", 0, 10)
    b.span(b.thread(), "b", 30, 40)
    assert pieces(critical_path(b.trace()))[1] == (10, 30, "unrecorded host", "")


def test_work_that_nobody_launched_ends_in_unknown():
    b = Builder()
    b.work("k", 10, 20)
    b.span(b.thread(), "x", 0, 5)
    assert pieces(critical_path(b.trace())) == [(0, 10, "unknown", "k"), (10, 20, "compute", "k")]


def test_a_launch_that_may_hide_a_wait_is_unknown():
    b = Builder()
    b.call("cudaStreamWaitEvent", 0, 1)
    b.launch((1, 3), "k", 50, 60)
    assert pieces(critical_path(b.trace()))[1] == (1, 50, "unknown", "k")


def test_slack_is_how_long_something_may_take_more_before_it_matters():
    b = Builder()
    long = b.launch((0, 1), "long", 2, 100, stream=7)
    b.launch((1, 2), "one", 2, 30, stream=8)
    b.launch((2, 3), "two", 30, 60, stream=8)
    after = b.launch((3, 4), "after", 100, 110, stream=7)
    b.edge("wait", 5, after)
    found = critical_path(b.trace())
    assert {b._spans[row]["name"]: int(found.slack[row]) for row in (long, 3, 5, after)} == {
        "long": 0,
        "one": 40,
        "two": 40,
        "after": 0,
    }
    assert [(row.name, row.slack) for row in found.next] == [("one", 40), ("two", 40)]


def test_one_step_alone_is_as_long_as_the_step():
    b = Builder()
    b.span(b.thread(), "ProfilerStep#3", 10, 50, "step")
    b.span(b.thread(), "op", 0, 100)
    b.launch((20, 25), "k", 26, 48)
    found = critical_path(b.trace(), "3")
    assert (found.start, found.wall) == (10, 40)
    pieces(found)
    with pytest.raises(UsageValueError, match="the trace has no step '7'; it has ProfilerStep#3"):
        critical_path(b.trace(), "7")


def test_an_empty_trace_has_an_empty_path():
    found = critical_path(Trace({}))
    assert (found.wall, found.rows, found.table.num_rows) == (0, (), 0)
