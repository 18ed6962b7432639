"""Annotations, modules and phases: host time, and the device work that was launched inside."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.analysis import phase_times, scopes
from tests.kineto_files import real_trace
from tests.reference.raw_events import calls_by_correlation, raw_events, work_of
from tests.trace_builder import Builder


@pytest.mark.parametrize("name", ["## forward ##", "Optimizer.step#SGD.step"])
def test_an_annotation_has_the_work_that_its_thread_launched_in_it(name: str) -> None:
    path = real_trace("nvidia_training_rank0")
    calls = calls_by_correlation(path)
    inside = [e for e in raw_events(path) if e["name"] == name and e["cat"] == "user_annotation"]
    works = [
        work
        for work in work_of(path)
        for call in [calls[work["args"]["correlation"]]]
        if any(e["tid"] == call["tid"] and e["start"] <= call["start"] < e["end"] for e in inside)
    ]
    row = next(row for row in scopes(et.open_trace(path)).rows if row.name == name)
    assert (row.count, row.host) == (len(inside), sum(e["end"] - e["start"] for e in inside))
    assert (row.works, row.device) == (len(works), sum(work["end"] - work["start"] for work in works))
    assert row.inferred == 0


def test_the_backward_that_autograd_runs_on_its_thread_is_inferred() -> None:
    path = real_trace("nvidia_training_rank0")
    calls = calls_by_correlation(path)
    (main,) = {e["tid"] for e in raw_events(path) if e["name"] == "## backward ##" and e["cat"] == "user_annotation"}
    inside = [e for e in raw_events(path) if e["name"] == "## backward ##" and e["tid"] == main]
    within = [
        (calls[work["args"]["correlation"]]["tid"] == main, work["end"] - work["start"])
        for work in work_of(path)
        if any(e["start"] <= calls[work["args"]["correlation"]]["start"] < e["end"] for e in inside)
    ]
    row = next(row for row in scopes(et.open_trace(path)).rows if row.name == "## backward ##")
    assert (row.works, row.device) == (len(within), sum(length for _, length in within))
    assert row.inferred == sum(length for own, length in within if not own) > 0


def test_a_module_inside_another_of_its_name_is_counted_once() -> None:
    b = Builder()
    b.span(b.thread(), "nn.Module: Block_0", 0, 100, "module")
    b.span(b.thread(), "nn.Module: Block_0", 20, 80, "module")
    b.span(b.thread(), "nn.Module: Linear_0", 30, 60, "module")
    b.launch((40, 50), "gemm", 200, 230)
    b.launch((90, 95), "add", 230, 235)
    found = {row.name: row for row in scopes(b.trace()).rows}
    block, linear = found["nn.Module: Block_0"], found["nn.Module: Linear_0"]
    assert (block.count, block.host, block.works, block.device) == (1, 100, 2, 35)
    assert (linear.kind, linear.host, linear.works, linear.device) == ("module", 30, 1, 30)


def test_where_no_launch_is_recorded_the_device_time_is_absent() -> None:
    b = Builder()
    b.span(b.thread(), "load", 0, 100, "annotation")
    b.work("kernel", 0, 50)
    found = scopes(b.trace())
    assert [(row.host, row.works, row.device) for row in found.rows] == [(100, None, None)]
    assert found.heading.endswith("no launch of device work is recorded, so their device time is not known")
    assert scopes(Builder().trace()).heading == "the trace has no annotations of the program and no modules"


def training() -> Builder:
    b = Builder()
    b.span(b.thread(), "ProfilerStep#1", 0, 1000, "step")
    b.span(b.thread(), "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 200, "annotation")
    b.span(b.thread(), "nn.Module: Net_0", 200, 400, "module")
    b.launch((250, 260), "gemm", 300, 350)
    b.span(b.thread(2), "autograd::engine::evaluate_function: MmBackward0", 450, 700)
    b.launch((500, 510), "gemm", 520, 640, tid=2)
    b.launch((650, 660), "nccl_all_reduce", 660, 760, 9, category="communication", tid=2)
    b.span(b.thread(), "Optimizer.step#SGD.step", 700, 900, "annotation")
    b.launch((750, 760), "adam", 780, 800)
    b.launch((950, 960), "log", 970, 975)
    return b


def test_a_step_is_split_by_phase_on_the_host_and_on_the_device() -> None:
    (row,) = phase_times(training().trace()).rows
    assert (row.loading, row.forward, row.backward, row.optimizer, row.other) == (200, 200, 250, 200, 150)
    assert (row.device_forward, row.device_backward, row.device_optimizer, row.device_other) == (50, 120, 20, 5)
    assert row.communication == 100
    assert phase_times(training().trace()).named == ("loading", "optimizer", "backward", "forward")


def test_the_phases_of_a_real_training_sum_to_each_step() -> None:
    path = real_trace("nvidia_training_rank0")
    found = phase_times(et.open_trace(path))
    optimizer = sum(
        e["end"] - e["start"]
        for e in raw_events(path)
        if e["cat"] == "user_annotation" and e["name"] in {"## optimizer ##", "Optimizer.zero_grad#SGD.zero_grad"}
    )
    assert sum(row.optimizer or 0 for row in found.rows) == pytest.approx(optimizer, rel=1e-6)
    for row in found.rows:
        assert row.loading is None
        assert (row.forward or 0) + (row.backward or 0) + (row.optimizer or 0) + row.other == row.wall
    assert "not named: loading" in found.heading
    calls = {work["args"]["correlation"]: work for work in work_of(path)}
    whole = sum(work["end"] - work["start"] for work in calls.values())
    device = [(row.device_forward or 0, row.device_backward or 0, row.device_optimizer or 0) for row in found.rows]
    assert sum(map(sum, device)) + sum(row.device_other for row in found.rows) == whole


def test_a_trace_that_names_no_phase_has_none() -> None:
    found = phase_times(et.open_trace(real_trace("cpu_only")))
    assert found.rows == ()
    assert found.heading == "nothing in the trace names data loading, forward, backward or optimizer"
