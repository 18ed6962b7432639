"""Devices under the names of their vendors: one GPU of ROCm, the streams of Ascend."""

from __future__ import annotations

from typing import Any

from eventide.analysis import idle, memory, summary, syncs
from tests.kineto_files import CALL, KERNEL, event, read, rows


def allocated(ts: int, held: int, device: int, kind: int) -> dict[str, Any]:
    args = {
        "Total Allocated": held,
        "Total Reserved": 0,
        "Bytes": 1,
        "Addr": ts,
        "Device Id": device,
        "Device Type": kind,
    }
    return {
        "ph": "i",
        "s": "t",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "pid": 9,
        "tid": 9,
        "ts": ts,
        "args": args,
    }


def launched(device: int, at: int, name: str = "hipLaunchKernel") -> list[dict[str, Any]]:
    stream = {**KERNEL, "pid": device}
    work = event(stream, "gemm", at + 2, 8, correlation=at, device=device, stream=7)
    return [event(CALL, name, at, 2, correlation=at), work]


def peaks(tmp_path, events) -> dict[str, int]:
    trace = read(tmp_path / "t.json", {"schemaVersion": 1, "traceEvents": events})
    return {each.device: each.peak for each in memory(trace).devices if each.source == "allocated bytes"}


def test_one_gpu_of_rocm_has_one_name_for_work_and_for_memory(tmp_path):
    for kind in (1, 6):  # CUDA, HIP
        assert peaks(tmp_path, [*launched(2, 10), allocated(1, 100, 0, kind), allocated(2, 50, -1, 0)]) == {
            "hip:2": 100,
            "cpu:0": 50,
        }


def test_several_gpus_of_rocm_are_the_same_in_order(tmp_path):
    events = [*launched(2, 10), *launched(3, 30), allocated(1, 100, 0, 1), allocated(2, 300, 1, 1)]
    assert peaks(tmp_path, events) == {"hip:2": 100, "hip:3": 300}


def test_devices_whose_numbers_do_not_match_keep_their_names(tmp_path):
    assert peaks(tmp_path, [*launched(2, 10), allocated(1, 1, 0, 1), allocated(2, 3, 1, 1)]) == {
        "cuda:0": 1,
        "cuda:1": 3,
    }
    nvidia = [*launched(2, 10, "cudaLaunchKernel"), allocated(1, 1, 0, 1)]
    assert peaks(tmp_path, nvidia) == {"cuda:0": 1}  # CUPTI and torch count alike


def named(what: str, pid: int, name: str, tid: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def test_the_streams_of_ascend_are_device_work_and_its_summaries_are_no_threads(tmp_path):
    base = {"ph": "X", "tid": 10}
    trace = read(
        tmp_path / "t.json",
        [
            *(named("process_name", pid, name) for pid, name in ((1, "Python"), (2, "Ascend Hardware"), (4, "CANN"))),
            named("process_name", 3, "Overlap Analysis"),
            named("thread_name", 2, "Stream 5", 10),
            named("thread_name", 3, "Computing", 10),
            event({**base, "pid": 1}, "aten::add", 0, 50),
            event({**base, "pid": 4}, "Node@launch", 3, 4),
            event({**base, "pid": 4}, "AscendCL@aclrtSynchronizeStreamWithTimeout", 20, 42),
            event({**base, "pid": 2}, "MatMulV2", 10, 20, **{"Task Type": "AI_CORE"}),
            event({**base, "pid": 2}, "EVENT_WAIT", 30, 10),
            event({**base, "pid": 2}, "MEMCPY_ASYNC", 40, 10),
            event({**base, "pid": 2}, "hcom_allReduce__1", 50, 10),
            event({**base, "pid": 3}, "Computing", 10, 20),
        ],
    )
    kinds = {
        name: (kind, device, stream)
        for kind, name, device, stream in rows(trace, "tracks", "kind", "name", "device", "stream")
    }
    assert kinds["Stream 5"] == ("stream", "npu:0", 5)
    assert kinds["Computing"] == ("other", None, None)
    assert [(row.name, row.category, row.total) for row in summary(trace).device] == [
        ("MatMulV2", "kernel", 20_000),
        ("MEMCPY_ASYNC", "copy", 10_000),
        ("hcom_allReduce__1", "communication", 10_000),
    ]
    assert [(call.name, call.duration) for call in syncs(trace).each] == [
        ("AscendCL@aclrtSynchronizeStreamWithTimeout", 42_000)
    ]
    assert "No device work" not in trace.report()


def arrow(kind: str, name: str, number: str, source: tuple[int, float], target: tuple[int, float]) -> list[Any]:
    ends = (("s", source), ("f", target))
    both = {"name": name, "cat": kind, "id": number, "tid": 10, "bp": "e"}
    return [{**both, "ph": phase, "pid": pid, "ts": time} for phase, (pid, time) in ends]


def test_the_arrows_of_ascend_tie_work_to_the_call_that_launched_it_and_else_to_the_operator(tmp_path):
    base = {"ph": "X", "tid": 10}
    trace = read(
        tmp_path / "t.json",
        [
            *(named("process_name", pid, name) for pid, name in ((1, "Python"), (2, "Ascend Hardware"), (4, "CANN"))),
            named("thread_name", 2, "Stream 5", 10),
            event({**base, "pid": 1}, "aten::mm", 0, 60),
            event({**base, "pid": 4}, "AscendCL@aclnnMatmul", 30, 10),
            event({**base, "pid": 2}, "MatMulV2", 50, 20),
            event({**base, "pid": 1}, "aten::add", 100, 40),
            event({**base, "pid": 2}, "Add", 150, 20),
            *arrow("async_npu", "torch_to_npu", "1", (1, 0), (2, 50)),
            *arrow("HostToDevice", "HostToDevice77", "77", (4, 30), (2, 50)),
            *arrow("async_npu", "torch_to_npu", "2", (1, 100), (2, 150)),
        ],
    )
    assert rows(trace, "edges", "kind") == ["launch", "launch"]
    spans = trace.tables["spans"].to_pylist()
    tied = {spans[to]["name"]: spans[source]["name"] for source, to in rows(trace, "edges", "from_span", "to_span")}
    assert tied == {"MatMulV2": "AscendCL@aclnnMatmul", "Add": "aten::add"}
    assert idle(trace).lanes[0].causes == {"host late": 30_000 + 30_000, "launch": 10_000 + 40_000, "unknown": 20_000}
