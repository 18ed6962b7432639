from __future__ import annotations

from io import StringIO

from rich.console import Console

from eventide.analysis import compiles, memory, syncs
from eventide.report import render_memory
from eventide.trace import Trace
from tests.trace_builder import Builder


def test_the_peak_and_its_holders():
    b = Builder()
    b.stacks = [[{"file": "model.py", "line": 7, "function": "forward"}]]
    b.span(b.thread(5), "aten::empty", 0, 10)
    b.operation("memory_allocation", 1, device="cuda:0", handle=16, bytes=100, thread=5)
    b.operation("memory_allocation", 5, device="cuda:0", handle=32, bytes=50, thread=5, stack=0)
    b.operation("memory_deallocation", 8, device="cuda:0", handle=16)
    b.operation("memory_deallocation", 9, device="cuda:0", handle=99, bytes=7)
    (found,) = memory(b.trace()).devices
    assert (found.device, found.peak, found.peak_time, found.end, found.before) == ("cuda:0", 157, 5, 50, 7)
    assert [(each.name, each.line, each.bytes) for each in found.holders] == [
        ("aten::empty", None, 100),
        ("aten::empty", "model.py:7 (forward)", 50),
        ("before the recording", None, 7),
    ]
    assert found.bytes.tolist() == [107, 157, 57, 50]


def test_a_reused_address_is_another_block():
    b = Builder()
    for at in (0, 10):
        b.operation("memory_allocation", at, device="cpu:0", handle=1, bytes=5)
        b.operation("memory_deallocation", at + 5, device="cpu:0", handle=1)
    (found,) = memory(b.trace()).devices
    assert (found.peak, found.end, found.allocations, found.frees) == (5, 0, 2, 2)


def words_of(trace: Trace) -> str:
    file = StringIO()
    Console(file=file, width=100, color_system=None).print(render_memory(memory(trace)))
    return file.getvalue()


def test_the_axis_includes_allocations_before_the_first_span_and_starts_at_that_span():
    b = Builder()
    b.operation("memory_allocation", 100, device="cpu:0", handle=1, bytes=5)
    b.operation("memory_deallocation", 900, device="cpu:0", handle=1)
    b.span(b.thread(5), "forward", 300, 700)
    found = memory(b.trace())
    assert (found.start, found.wall, found.origin) == (100, 800, 300)
    assert words_of(b.trace()).startswith("cpu:0 (allocations): peak 5 B 200 ns before the first span, 0 B at the end;")


def test_without_spans_the_axis_begins_with_the_first_allocation():
    b = Builder()
    for at in (10_000, 20_000):
        b.operation("memory_allocation", at, device="cpu:0", handle=at, bytes=5)
    found = memory(b.trace())
    assert (found.start, found.wall, found.origin) == (10_000, 10_000, 10_000)
    assert words_of(b.trace()).startswith("cpu:0 (allocations): peak 10 B at 10.0 us, 10 B at the end;")


def test_memory_before_the_first_free_is_all_that_was_allocated():
    b = Builder()
    for at in (1, 2):
        b.operation("memory_deallocation", at, device="cpu:0", handle=at, bytes=5)
    (found,) = memory(b.trace()).devices
    assert (found.peak, found.peak_time) == (10, 1)
    assert [(one.name, one.count, one.bytes) for one in found.holders] == [("before the recording", 2, 10)]


def test_counters_give_a_curve_without_holders():
    tracks = {"kind": ["counter"], "device": ["cuda:0"]}
    counters = {"track": [0, 0], "name": ["Total Allocated"] * 2, "time": [0, 5], "value": [10.0, 30.0]}
    (found,) = memory(Trace({"tracks": tracks, "counters": counters})).devices
    assert (found.source, found.peak, found.peak_time, found.holders) == ("Total Allocated", 30, 5, ())


def test_each_synchronization_reports_what_it_waited_for_and_its_cost():
    b = Builder()
    work = b.launch((0, 5), "gemm", 5, 60)
    b.span(b.thread(), "aten::item", 10, 80)
    known = b.call("cudaStreamSynchronize", 20, 70, category="sync")
    b.edge("synchronize", work, known)
    b.call("cudaEventSynchronize", 90, 95, category="sync")
    first, second = syncs(b.trace()).each
    assert (first.name, first.inside, first.waited_for, first.waited, first.returned) == (
        "cudaStreamSynchronize", "aten::item", "gemm", 40, 10,
    )  # fmt: skip
    assert (second.waited_for, second.waited, second.returned) == (None, None, None)


def test_a_synchronization_of_the_device_waited_for_what_was_launched_before_it():
    b = Builder()
    b.launch((0, 5), "long", 5, 60)
    b.launch((5, 8), "short", 8, 30, stream=8)
    b.call("cudaDeviceSynchronize", 20, 70, category="sync")
    b.launch((25, 28), "later, by another thread", 30, 65, stream=9, tid=2)
    (found,) = syncs(b.trace()).each
    assert (found.waited_for, found.waited) == ("long", 40)


def test_compiles_are_summed_and_nested_ones_counted_once():
    b = Builder()
    b.call("f", 0, 100, category="compile")
    b.call("inductor", 20, 60, category="compile")
    b.call("f", 200, 250, category="compile")
    found = compiles(b.trace())
    assert (found.count, found.time) == (3, 150)
    assert [(row.name, row.count, row.total, row.outermost) for row in found.table] == [
        ("f", 2, 150, 150),
        ("inductor", 1, 40, 0),
    ]
