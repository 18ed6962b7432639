from __future__ import annotations

import pytest

from eventide.analysis import idle
from eventide.trace import Trace
from tests.trace_builder import Builder


def causes(b: Builder, by: str = "device") -> dict[str, int]:
    found = idle(b.trace(), by)
    for lane in found.lanes:
        assert sum(lane.causes.values()) == lane.idle
        assert lane.busy + lane.idle == lane.wall
    return found.lanes[0].causes


def test_a_gap_is_split_at_the_start_and_the_end_of_the_launching_call():
    b = Builder()
    b.launch((0, 5), "first", 10, 20)
    b.launch((50, 58), "second", 61, 70)
    b.call("cudaEventQuery", 70, 75)
    # before the first: launch 0-5, 5-10 not known; then host late 20-50, launch 50-58, queued 58-61; the end 70-75
    assert causes(b) == {"host late": 30, "launch": 13, "queued": 3, "unknown": 5, "queue empty": 5}


def test_the_gap_before_the_first_work_is_queued_only_where_the_recording_holds_all_work():
    b = Builder()
    b.launch((0, 5), "first", 500, 510)
    b.call("cudaEventQuery", 6, 7)
    assert causes(b) == {"launch": 5, "unknown": 495}
    b.operation("work_submission", 0)  # our own recordings
    assert causes(b) == {"launch": 5, "queued": 495}


def test_a_device_without_work_while_the_host_synchronizes_is_idle_for_that_reason():
    b = Builder()
    b.launch((0, 5), "first", 5, 20)
    b.call("cudaStreamSynchronize", 10, 25, category="sync")
    b.launch((40, 45), "second", 45, 50)
    assert causes(b) == {"launch": 10, "synchronization": 20}


@pytest.mark.parametrize(
    ("name", "category", "cause"), [("cudaMalloc", "runtime", "allocator"), ("f", "compile", "compile")]
)
def test_the_cause_is_the_span_that_the_launching_thread_was_in(name, category, cause):
    b = Builder()
    b.launch((0, 5), "first", 5, 20)
    b.call(name, 25, 35, category=category)
    b.launch((40, 45), "second", 45, 50)
    assert causes(b) == {"launch": 10, "host late": 10, cause: 10}


def test_spans_of_other_threads_are_not_the_cause():
    b = Builder()
    b.launch((0, 5), "first", 5, 20)
    b.call("cudaMalloc", 20, 40, tid=2)
    b.launch((40, 45), "second", 45, 50)
    assert causes(b) == {"launch": 10, "host late": 20}


def test_idle_time_before_work_that_waited_for_an_event_names_the_event():
    b = Builder()
    b.launch((0, 5), "long", 5, 60, stream=20)
    b.launch((5, 10), "before", 10, 20, stream=7)
    waiting = b.launch((12, 15), "after", 62, 70, stream=7)
    b.edge("wait", 1, waiting, event=3, version=1)
    found = idle(b.trace(), "stream")
    lane = next(lane for lane in found.lanes if lane.stream == "7")
    assert lane.causes == {"host late": 5, "launch": 5, "stream wait": 40, "queued": 2}
    gap = next(gap for gap in found.worst(1, "stream wait"))
    assert gap.waited_for == "event 3 of stream 20 (long)"
    assert gap.cause == "stream wait"


def test_a_wait_that_completed_before_the_launch_is_not_the_cause():
    b = Builder()
    b.launch((0, 5), "early", 5, 8, stream=20)
    late = b.launch((50, 55), "late", 55, 60, stream=7)
    b.edge("wait", 1, late)
    lane = next(lane for lane in idle(b.trace(), "stream").lanes if lane.stream == "7")
    assert lane.causes == {"host late": 50, "launch": 5}


def test_a_wait_that_was_called_but_not_recorded_leaves_the_rest_unknown():
    b = Builder()
    b.launch((0, 5), "first", 5, 20)
    b.call("cudaStreamWaitEvent", 6, 7)
    b.launch((8, 10), "second", 50, 60)
    b.call("cudaEventQuery", 10, 11)
    b.launch((12, 14), "third", 62, 70)
    # nothing was waited for between second and third, so that gap is the device's own
    assert causes(b) == {"launch": 5, "unknown": 30, "queued": 2}


def test_a_trace_with_launching_calls_only_does_not_prove_that_nothing_waited():
    b = Builder()
    b.launch((0, 5), "first", 5, 20)
    b.launch((8, 10), "second", 50, 60)
    assert causes(b) == {"launch": 5, "unknown": 30}


def test_work_without_a_launch_is_unknown():
    b = Builder()
    b.work("first", 0, 10)
    b.work("second", 30, 40)
    assert causes(b) == {"unknown": 20}


def test_a_submit_time_without_a_thread_is_enough_to_detect_a_late_host():
    b = Builder()
    b.work("first", 0, 10, category="work", submit=0)
    b.work("second", 30, 40, category="work", submit=25)
    b.operation("work_submission", 25)
    assert causes(b) == {"host late": 15, "queued": 5}


def test_a_gap_names_its_launch_the_host_span_and_the_source_line():
    b = Builder()
    inner = {"file": "/usr/lib/python3/dist-packages/pyopencl/__init__.py", "line": 7, "function": "enqueue_copy"}
    b.stacks = [[inner, {"file": "train.py", "line": 42, "function": "step"}]]  # the line is the program's own
    b.launch((0, 5), "first", 5, 20)
    b.span(b.thread(), "DataLoader", 22, 45, "annotation")
    b.span(b.thread(), "aten::mm", 48, 60)
    b.launch((50, 55), "gemm", 55, 60, stack=0)
    (gap,) = idle(b.trace()).worst(1)
    assert (gap.start, gap.duration, gap.cause) == (20, 35, "host late")
    assert (gap.next_work, gap.launched_by, gap.host_op) == ("gemm", "aten::mm", "DataLoader")
    assert gap.line == "train.py:42 (step)"


def test_a_trace_without_devices_has_no_lanes():
    assert idle(Trace({})).lanes == ()
    assert idle(Trace({})).worst() == ()
