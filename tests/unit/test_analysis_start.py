"""What a recording that begins in the middle of a run shows, and what not: work before its start is not in it."""

from __future__ import annotations

import pytest

from eventide.analysis import critical_path, idle, syncs
from tests.trace_builder import Builder


def causes(b: Builder) -> dict[str, int]:
    (lane,) = idle(b.trace(source="kineto")).lanes
    assert sum(lane.causes.values()) == lane.idle
    return lane.causes


def test_time_from_the_first_launch_until_the_first_work_has_no_known_cause():
    b = Builder()
    b.launch((0, 5), "gemm", 80_000, 100_000)
    assert causes(b) == {"launch": 5, "unknown": 79_995}
    assert critical_path(b.trace(source="kineto")).kinds == {"unknown": 80_000, "compute": 20_000}


def test_the_first_work_that_begins_as_its_call_returns_was_launched():
    b = Builder()
    b.launch((0, 5), "gemm", 5, 1000)
    b.call("cudaEventQuery", 6, 7)  # shows that calls are recorded that launch nothing
    assert critical_path(b.trace(source="kineto")).kinds == {"compute": 995, "launch": 5}


def test_a_call_that_blocks_before_the_first_work_waits_for_what_is_not_recorded():
    b = Builder()
    b.call("cudaDeviceSynchronize", 10, 700, category="sync")
    b.launch((750, 755), "gemm", 755, 1000)
    b.call("cudaEventQuery", 760, 761)
    assert causes(b) == {"unknown": 690, "synchronization": 50, "launch": 5}
    text = " ".join(b.trace(source="kineto").report().split())
    assert "What devices did in the 690 ns before their first recorded work" in text
    assert "had synchronized" not in text


@pytest.mark.parametrize(("returned", "tied"), [(620, True), (60_700, False)])
def test_a_call_waits_for_work_that_was_launched_before_the_recording(returned, tied):
    b = Builder()
    b.work("earlier", 0, 600)
    b.call("cudaDeviceSynchronize", 10, returned, category="sync")
    b.launch((returned + 10, returned + 20), "gemm", returned + 20, returned + 300)
    trace = b.trace(source="kineto")
    (call,) = syncs(trace).each
    assert (call.waited_for, call.inferred) == (("earlier", True) if tied else (None, False))
    assert ("blocked" in critical_path(trace).kinds) == (not tied)


def captured(*, end: bool) -> Builder:
    """Work until 100, then a capture from 200 until 800 of 1000 ns, and with `end` work after it."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    b.call("cudaStreamBeginCapture", 200, 210)
    b.call("cudaLaunchKernel", 300, 310)
    b.call("cudaStreamEndCapture", 800, 810)
    if end:
        b.launch((900, 905), "gemm", 905, 1000)
    else:
        b.span(b.thread(), "f", 810, 1000)
    return b


def test_time_in_which_the_host_captures_a_graph_is_its_own_cause():
    assert causes(captured(end=True)) == {"capture": 600, "host late": 200, "launch": 7}
    assert causes(captured(end=False)) == {"capture": 600, "queue empty": 300, "launch": 2}


@pytest.mark.parametrize("end", [True, False])
def test_launches_into_a_capture_are_neither_late_nor_missing(end):
    text = " ".join(captured(end=end).trace(source="kineto").report().split())
    assert "while the host captured a graph, whose launches do not run" in text
    assert "Record the replays of the graph, not its capture." in text
    assert "CUDA graphs" not in text
    assert "nothing more was launched" not in text
