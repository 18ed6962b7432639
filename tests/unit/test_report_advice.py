"""Advice fits the device, the cause and the tool: made traces, and real ones where the folder is there."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as et
from eventide.analysis import summary
from eventide.trace import Trace
from tests.kineto_files import CALL, KERNEL, event, read, real_trace
from tests.trace_builder import Builder

PIN = "Pin the host memory of copies"
ITEM = "Remove synchronizations between launches"


def text_of(trace: Trace) -> str:
    return " ".join(trace.report().split())


def late(device: str, source: str) -> Trace:
    """A device that is idle from 10 to 900 because the host is late."""
    b = Builder()
    b.span(b.thread(), "load", 10, 890, "annotation")
    for call, start, end in (((0, 2), 2, 10), ((890, 900), 900, 1000)):
        source_row = b.call("launchKernel", *call)
        b.edge("launch", source_row, b.span(b.stream(7, device), "gemm", start, end, "kernel"))
    return b.trace(source=source)


@pytest.mark.parametrize(
    ("device", "source", "ways"),
    [
        ("cuda:0", "kineto", "code (torch.compile, CUDA graphs), data"),
        ("hip:0", "kineto", "code (torch.compile, HIP graphs), data"),
        ("mtia:0", "kineto", "code (torch.compile), data"),
        ("cuda:0", "jax", "code (CUDA graphs), data"),
        ("tpu:0", "jax", "code, data"),
    ],
)
def test_advice_against_a_late_host_names_what_the_device_and_the_framework_have(device, source, ways):
    assert f"larger batches, fused or compiled {ways} loading in other processes." in text_of(late(device, source))


@pytest.mark.parametrize(
    ("device", "source", "named"),
    [("cuda", "kineto", True), ("hip", "kineto", False), ("mtia", "kineto", False), ("cuda", "jax", False)],
)
def test_the_option_that_records_stream_waits_is_named_only_for_cuda_in_torch(device, source, named):
    b = Builder()
    for call, start, end in (((0, 2), 2, 10), ((12, 14), 900, 1000)):
        row = b.call("launchKernel", *call)
        b.edge("launch", row, b.span(b.stream(7, f"{device}:0"), "gemm", start, end, "kernel"))
    text = text_of(b.trace(source=source))
    assert "stream waits are not recorded" in text
    assert ("enable_cuda_sync_events" in text) is named


def blocked_by_copies(copy: str, *, call: str = "cudaMemcpyAsync") -> Trace:
    """Two copies in which the host waits, and a device that is idle after each."""
    b = Builder()
    for at in (0, 1000):
        b.span(b.thread(), "aten::copy_", at, at + 500)
        b.launch((at, at + 490), copy, at + 10, at + 480, category="copy", called=call)
        b.launch((at + 990, at + 991), "gemm", at + 991, at + 999)
    return b.trace(source="kineto")


@pytest.mark.parametrize(
    ("copy", "call"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync"),
        ("Memcpy HtoD (Host -> Device)", "hipMemcpyWithStream"),
        ("CopyHostToDevice", "hipMemcpy"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "hipMemcpy"),
        ("Memcpy M2D (Memory -> Device)", "zeCommandListAppendMemoryCopy"),
    ],
)
def test_copies_of_pageable_memory_that_block_the_host_call_for_pinned_memory(copy, call):
    text = text_of(blocked_by_copies(copy, call=call))
    assert PIN in text
    assert ".item()" not in text


def test_copies_that_read_a_result_call_for_fewer_synchronizations():
    text = text_of(blocked_by_copies("Memcpy DtoH (Device -> Pageable)"))
    assert ITEM in text
    assert PIN not in text


@pytest.mark.parametrize("source", ["chrome", "perfetto", "jax", "eventide", "kineto"])
def test_torch_profiler_is_named_only_in_the_report_of_its_own_trace(source):
    b = Builder()
    b.span(b.thread(), "parse", 0, 10, "span")
    assert ("torch.profiler" in text_of(b.trace(source=source))) is (source == "kineto")


def slices(*categories: str) -> list[dict[str, Any]]:
    base = {"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 10}
    return [{**base, "cat": each, "name": f"of {each}", "ts": 20 * row} for row, each in enumerate(categories)]


@pytest.mark.parametrize("categories", [("toplevel", "ipc,mojom", "v8"), ("FEE", "fee", "my_category")])
def test_host_tables_hold_every_category_of_another_tool(tmp_path, categories):
    trace = read(tmp_path / "t.json", slices(*categories))
    assert {row.name for row in summary(trace).host} == {f"of {each}" for each in categories}
    assert "Host code" in trace.report()


def test_rows_of_the_profiler_itself_are_no_host_code(tmp_path):
    rows = slices("Trace", "overhead")
    events = [*rows, event(CALL, "cudaLaunchKernel", 1, 2, correlation=1), event(KERNEL, "k", 3, 2, correlation=1)]
    found = summary(read(tmp_path / "t.json", {"schemaVersion": 1, "traceEvents": events}))
    assert [row.name for row in found.host] == ["cudaLaunchKernel"]


@pytest.mark.parametrize("name", ["mtia_inference", "amd_mi250_training", "amd_mi300_resnet", "amd_mi300_flux"])
def test_no_report_of_another_device_names_an_option_of_cuda(name):
    text = text_of(et.open_trace(real_trace(name)))
    assert "CUDA graphs" not in text
    assert "enable_cuda_sync_events" not in text


@pytest.mark.parametrize("name", ["nvidia_resnet_pageable", "nvidia_h100_owlv2"])
def test_the_report_of_pageable_copies_says_to_pin_memory(name):
    text = text_of(et.open_trace(real_trace(name)))
    assert PIN in text
    assert ".item()" not in text


def test_pinned_memory_is_no_advice_for_a_host_that_waits_for_a_result():
    assert PIN not in text_of(et.open_trace(real_trace("amd_mi300_flux")))


@pytest.mark.parametrize(
    ("name", "pinned"), [("Memcpy HtoD (Pageable -> Device)", True), ("Memcpy DtoD", False), ("Memset (Device)", False)]
)
def test_pinned_memory_is_no_advice_for_copies_on_the_device(name, pinned):
    b = Builder()
    b.launch((0, 2), "gemm", 2, 500)
    b.launch((3, 4), name, 500, 900, category="copy")
    text = text_of(b.trace(source="kineto"))
    assert "400 ns with nothing but copies" in text
    assert ("Overlap copies with computation: pinned memory" in text) == pinned


def test_advice_is_given_only_where_it_pays():
    """A device that is idle for 1 % of the time, and a host that waits for it."""
    b = Builder()
    b.launch((0, 10), "gemm", 10, 1000)
    b.call("cudaDeviceSynchronize", 20, 1000, category="sync")
    text = text_of(b.trace(source="kineto"))
    assert "1. The device is the bottleneck" in text
    assert "in cudaDeviceSynchronize; cuda:0 worked for 100 % of it." in text
    assert "Give the host less to do" not in text
    assert "eventide trace syncs" not in text
    assert "Make its kernels faster" in text
