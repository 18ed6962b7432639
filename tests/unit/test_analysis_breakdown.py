from __future__ import annotations

from eventide.analysis import breakdown, summary
from eventide.trace import Trace
from tests.trace_builder import Builder


def test_overlap_is_reported_separately_and_the_parts_sum_to_the_wall_time():
    b = Builder()
    b.call("cudaMalloc", 0, 100)
    b.work("gemm", 10, 50)
    b.work("allreduce", 40, 80, stream=20, category="communication")
    b.work("memcpy", 45, 60, stream=21, category="copy")
    whole = breakdown(b.trace()).devices[0].whole
    assert (whole.wall, whole.compute, whole.communication, whole.copy, whole.idle) == (100, 30, 20, 0, 30)
    assert whole.overlap == {
        "compute + communication": 5,
        "communication + copy": 10,
        "compute + communication + copy": 5,
    }
    assert whole.any_of("communication") == 40
    assert whole.hidden_communication == 20


def test_the_steps_and_the_time_outside_them_sum_to_the_whole():
    b = Builder()
    for number, start in enumerate((10, 40)):
        b.span(b.thread(), f"ProfilerStep#{number}", start, start + 30, "step")
    b.call("x", 0, 5)
    b.work("k", 20, 60)
    device = breakdown(b.trace()).devices[0]
    assert [(part.scope, part.wall, part.compute, part.idle) for part in device.steps] == [
        ("ProfilerStep#0", 30, 20, 10),
        ("ProfilerStep#1", 30, 20, 10),
        ("outside steps", 10, 0, 10),
    ]
    assert (device.first, device.last, device.idle_between) == (20, 60, 0)


def test_a_step_that_runs_into_the_next_one_ends_there():
    b = Builder()
    b.span(b.thread(), "ProfilerStep#0", 0, 60, "step")
    b.span(b.thread(), "ProfilerStep#1", 50, 100, "step")
    b.work("k", 0, 100)
    assert [part.wall for part in breakdown(b.trace()).devices[0].steps] == [50, 50, 0]


def test_without_device_work_no_device_is_reported():
    b = Builder()
    b.span(b.thread(), "aten::add", 0, 10)
    found = breakdown(b.trace())
    assert found.wall == 10
    assert found.devices == ()
    assert breakdown(Trace({})).devices == ()


def test_waits_and_annotations_and_skipped_work_on_a_stream_occupy_nothing():
    b = Builder()
    b.work("k", 0, 10)
    b.work("Stream Wait Event", 10, 50, category="wait")
    b.work("ProfilerStep#1", 0, 100, category="annotation")
    b.work("lost", 60, 70, category="work", outcome="skipped")
    b.call("x", 0, 100)
    assert breakdown(b.trace()).devices[0].whole.idle == 90


def test_devices_of_several_ranks_are_kept_apart():
    b = Builder()
    b.span(b.stream(7, "cuda:0", rank=0), "k", 0, 10, "kernel")
    b.span(b.stream(7, "cuda:0", rank=1), "k", 5, 20, "kernel")
    found = {each.device: each.whole.idle for each in breakdown(b.trace()).devices}
    assert found == {"rank 0 cuda:0": 10, "rank 1 cuda:0": 5}


def test_self_time_excludes_inner_spans():
    b = Builder()
    b.span(b.thread(), "outer", 0, 100)
    b.span(b.thread(), "inner", 10, 40)
    b.span(b.thread(), "inner", 50, 60)
    b.span(b.thread(), "innermost", 20, 30)
    rows = {
        row.name: (row.count, row.total, row.self_time, row.min, row.median, row.max) for row in summary(b.trace()).host
    }
    assert rows == {
        "outer": (1, 100, 60, 100, 100, 100),
        "inner": (2, 40, 30, 10, 20, 30),
        "innermost": (1, 10, 10, 10, 10, 10),
    }


def test_where_spans_overlap_without_nesting_the_later_one_gets_the_time():
    b = Builder()
    b.span(b.thread(), "a", 0, 10)
    b.span(b.thread(), "b", 5, 15)
    rows = {row.name: row.self_time for row in summary(b.trace()).host}
    assert rows == {"a": 5, "b": 10}


def test_an_open_span_lasts_until_the_end_of_the_trace_and_is_counted():
    b = Builder()
    b.span(b.thread(), "done", 0, 50)
    b.span(b.thread(), "running", 20, None)
    found = summary(b.trace())
    assert found.unfinished == 1
    assert found.wall == 50
    assert {row.name: row.total for row in found.host} == {"done": 50, "running": 30}


def test_work_reports_how_long_it_ran_without_a_core():
    b = Builder()
    b.work("sleepy", 0, 100, category="work", cpu=30)
    b.work("busy", 100, 150, category="work", cpu=50)
    assert {row.name: row.off_cpu for row in summary(b.trace()).device} == {"sleepy": 70, "busy": 0}


def test_streams_and_threads_are_summed():
    b = Builder()
    b.span(b.thread(), "op", 0, 80)
    b.call("cudaDeviceSynchronize", 50, 80, category="sync")
    b.work("k", 10, 30)
    b.work("k", 20, 40, stream=8)
    found = summary(b.trace())
    assert [(row.stream, row.busy, row.idle) for row in found.streams] == [("7", 20, 60), ("8", 20, 60)]
    assert [(row.recorded, row.unrecorded, row.blocked) for row in found.threads] == [(80, 0, 30)]
    assert (found.sync_count, found.sync_time) == (1, 30)


def test_a_stream_is_shown_by_its_number_and_its_name():
    trace = Builder()
    for number, name in ((1, "loads"), (2, "stream 2"), (3, None), (4, "Stream 4 (high priority)")):
        trace.span(trace.stream(number, name=name), "work", 0, 10, "work")
    assert [row.stream for row in summary(trace.trace()).streams] == ["1 'loads'", "2", "3", "4"]
