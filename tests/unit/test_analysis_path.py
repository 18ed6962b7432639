from __future__ import annotations

import pytest

from eventide import UsageValueError
from eventide.analysis import CriticalPath, critical_path, syncs
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


def test_the_path_follows_a_late_host_and_not_a_full_queue():
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


def test_work_that_overlaps_the_one_before_it_by_a_trifle_follows_it():
    b = Builder()
    b.launch((0, 10), "first", 20, 50_000)
    b.launch((30, 40), "second", 50_000, 90_000)
    b.launch((60, 70), "third", 89_500, 120_000)
    b.call("cudaEventQuery", 80, 90)
    assert [piece[2:] for piece in pieces(critical_path(b.trace()))] == [
        ("launch", "first"),
        ("compute", "first"),
        ("compute", "second"),
        ("compute", "third"),
    ]


def test_work_that_runs_beside_other_work_of_its_stream_does_not_follow_it():
    b = Builder()
    b.launch((0, 10), "first", 20, 50_000)
    b.launch((30, 40), "second", 25_000, 90_000)
    b.call("cudaEventQuery", 80, 90)
    assert ("launch", "second") in [piece[2:] for piece in pieces(critical_path(b.trace()))]


def test_a_synchronization_that_did_not_wait_is_host_time():
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


@pytest.mark.parametrize(
    ("called", "copied", "blocks"),
    [
        ("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", True),
        ("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)", True),
        ("cuMemcpyDtoH_v2", "Memcpy DtoH (Device -> Pinned)", True),
        ("hipMemcpyAsync", "CopyDeviceToHost", True),
        ("zeCommandListAppendMemoryCopy", "Memcpy D2M (Device -> Memory)", True),
        ("copyFromDevice", "dma_request", True),
        ("hipMemcpyAsync", "CopyDeviceToDevice", False),
        ("musaMemcpyAsync", "Memcpy D2D", False),
        ("urEnqueueUSMMemcpy", "Memcpy H2D (Pinned -> Device)", False),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)", False),
        ("hipMemcpyAsync", "Memcpy DtoD (Device -> Device)", False),
    ],
)
def test_a_copy_blocks_by_its_call_its_memory_and_its_end(called, copied, blocks):
    b = Builder()
    b.launch((0, 60), copied, 10, 55, called=called, category="copy")
    found = syncs(b.trace())
    assert [(sync.waited_for, sync.waited, sync.inferred) for sync in found.each] == [(copied, 55, False)][:blocks]


def test_the_tolerance_is_the_skew_that_the_trace_shows():
    b = Builder()
    b.launch((0, 100), "Memcpy HtoD (Pageable -> Device)", 10, 108, called="cudaMemcpyAsync", category="copy")
    b.launch((200, 300), "Memcpy (Device -> Host)", 210, 307, called="hipMemcpyAsync", category="copy")
    b.launch((400, 500), "Memcpy (Device -> Host)", 410, 509, called="hipMemcpyAsync", category="copy")
    found = syncs(b.trace())
    assert (found.count, found.total, found.skew) == (2, 200, 8)  # the third ends later than any that surely waited
    assert "copy" in critical_path(b.trace()).kinds


def test_a_device_synchronization_that_ends_before_the_work_by_the_skew_waited_for_it():
    b = Builder()
    b.launch((0, 2), "k", 5, 108)
    b.call("hipDeviceSynchronize", 10, 100, category="sync")
    (sync,) = syncs(b.trace()).each
    assert (sync.waited_for, sync.waited, sync.inferred) == ("k", 90, False)


def test_a_synchronization_without_an_edge_waited_for_the_last_work_of_its_thread_if_that_ended_with_it():
    b = Builder()
    b.launch((0, 2), "k", 5, 1_000_000)
    b.call("cudaStreamSynchronize", 10, 1_010_000, category="sync")
    b.launch((1_020_000, 1_020_010), "k", 1_020_020, 1_030_000)
    b.call("cudaStreamSynchronize", 1_020_015, 2_000_000, category="sync")  # it returned long after that
    near, far = syncs(b.trace()).each
    assert (near.waited_for, near.waited, near.inferred) == ("k", 999_990, True)
    assert (far.waited_for, far.waited, far.inferred) == (None, None, False)
    found = critical_path(b.trace())
    assert pieces(found)[-1][2:] == ("blocked", "cudaStreamSynchronize")
    assert found.kinds["host"] < 100_000


def test_the_backward_thread_and_the_thread_that_waits_for_it_are_one_path():
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


def test_time_that_no_thread_recorded_is_reported_as_unrecorded():
    b = Builder()
    b.span(b.thread(), "a", 0, 10)
    b.span(b.thread(), "b", 30, 40)
    assert pieces(critical_path(b.trace()))[1] == (10, 30, "unrecorded host", "")


def test_the_path_before_work_without_a_launch_is_unknown():
    b = Builder()
    b.work("k", 10, 20)
    b.span(b.thread(), "x", 0, 5)
    assert pieces(critical_path(b.trace())) == [(0, 10, "unknown", "k"), (10, 20, "compute", "k")]


def test_a_launch_that_may_hide_a_wait_is_unknown():
    b = Builder()
    b.call("cudaStreamWaitEvent", 0, 1)
    b.launch((1, 3), "k", 50, 60)
    assert pieces(critical_path(b.trace()))[1] == (1, 50, "unknown", "k")


def test_slack_is_how_much_longer_a_span_may_take_without_effect():
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
