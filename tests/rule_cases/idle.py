"""Rules about idle devices: in each trace work ends at 100 ns and the next begins at 900 ns."""

from __future__ import annotations

from eventide.trace import Trace
from tests.rule_cases.case import Case, busy, gap, made
from tests.trace_builder import Builder


def copies(name: str) -> Trace:
    """The host in a copy call until 800 ns, whose copy ends at 790 ns; the device has nothing to do after it."""
    b = Builder()
    b.launch((0, 800), name, 690, 790, category="copy", called="cudaMemcpyAsync")
    b.launch((1890, 1900), "gemm", 1900, 2000)
    return b.trace(source="kineto")


def waited() -> Trace:
    """Work of stream 7 waits from 100 to 900 ns for that of stream 8."""
    b = Builder()
    b.launch((0, 1), "first", 1, 100)
    b.work("other", 100, 110, stream=8)
    held = b.span(b.stream(8), "elsewhere", 110, 900, "annotation")
    b.edge("wait", held, b.launch((5, 6), "second", 900, 1000), event=3)
    return b.trace(source="test")


def unlaunched() -> Trace:
    b = Builder()
    b.work("a", 0, 100)
    b.work("b", 900, 1000)
    return b.trace(source="test")


def devices(count: int) -> Trace:
    """Each busy for 100 ns less than the one before it, of 1000 ns."""
    b = Builder()
    for device in range(count):
        b.span(b.stream(7, f"cuda:{device}"), "k", 0, 1000 - 100 * device, "kernel")
    return b.trace(source="test")


def loading(kind: str) -> Builder:
    """The host in a data loader."""
    return gap(inside=(f"enumerate(DataLoader)#{kind}DataLoaderIter.__next__", 100, 890, "annotation"))


def captured() -> Trace:
    """The host captures a graph in the gap."""
    b = gap()
    b.call("cudaStreamBeginCapture", 150, 151)
    b.call("cudaLaunchKernel", 200, 210)
    b.call("cudaStreamEndCapture", 850, 851)
    return b.trace(source="kineto")


def long_work(time: int) -> Trace:
    """Two pieces of work, and between them something that the host did for a long time."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    b.span(b.thread(), "resize", 100, time, "annotation")
    b.launch((time, time + 10), "gemm", time + 10, time + 1000)
    return b.trace(source="kineto")


def launched(returns: int) -> Trace:
    """Four calls, 200 us apart, that launch 90 us of work and return so many ns after their start."""
    b = Builder()
    for start in range(0, 800_000, 200_000):
        b.launch((start, start + returns), "gemm", start + 5_000, start + 95_000)
    return b.trace(source="kineto")


late = gap(inside=("load", 100, 890, "annotation"))
context = gap(inside=("cudaGetDevice", 100, 890, "runtime"))
IDLE = {"device": "cuda:0", "idle": 802, "wall": 1000}
PIN = "Pin the host memory of copies, so that the host need not wait for them (pin_memory=True, non_blocking=True); "
CASES = [
    Case(
        "idle-host-late", made(late), {**IDLE, "part": 790, "gaps": 1, "worst": 790, "host": "load"}, made(busy()),
        says="99 % of that because the host was late: 1 gap, worst 790 ns before gemm, host in load.",
    ),
    Case(
        "idle-data-loading", made(loading("_SingleProcess")), {**IDLE, "part": 790}, made(late),
        remedy="The device waited for data: load it in other processes (num_workers).",
    ),
    Case(
        "idle-data-loading", made(loading("_MultiProcessing")), {"part": 790}, made(context),
        remedy="The device waited for data: give its loader more workers, or less to do for each sample.",
    ),
    Case("idle-driver-call", made(context), {**IDLE, "part": 790, "host": "cudaGetDevice"}, made(late)),
    Case("idle-host-late", made(late), {"part": 790}, made(context)),
    Case("idle-host-late", made(late), {"part": 790}, made(loading("_SingleProcess"))),
    Case(
        "idle-synchronization", made(gap(inside=("cudaDeviceSynchronize", 50, 600, "sync"))),
        {**IDLE, "part": 790, "worst": 790}, lambda: copies("Memcpy HtoD (Pageable -> Device)"),
        remedy="Remove synchronizations between launches (reading or printing a result); see `eventide trace syncs`.",
    ),
    Case(
        "idle-blocking-copies", lambda: copies("Memcpy HtoD (Pageable -> Device)"),
        {"idle": 1800, "part": 1100, "wall": 2000}, lambda: copies("Memcpy DtoH (Device -> Pageable)"),
        remedy=PIN + "see `eventide trace syncs`.",
    ),
    Case(
        "idle-blocking-launches", lambda: launched(100_000), {"idle": 340_000, "part": 315_000, "gaps": 3},
        lambda: launched(20_000), confidence="inferred",
        remedy="Let the host launch ahead of the device: unset CUDA_LAUNCH_BLOCKING; see `eventide trace syncs`.",
    ),
    Case("idle-host-late", lambda: launched(20_000), {"part": 315_000}, lambda: launched(100_000)),
    Case("idle-compile", made(gap(inside=("inductor", 100, 890, "compile"))), {**IDLE, "part": 790}, made(late)),
    Case(
        "idle-capture", captured, {**IDLE, "part": 700, "gaps": 1, "worst": 700}, made(late),
        remedy="Record the replays of the graph, not its capture.",
    ),
    Case(
        "idle-host-work", lambda: long_work(2_000_100), {"part": 2_000_000, "gaps": 1, "host": "resize"},
        lambda: long_work(900_000), says="because the host was late: 1 gap, worst 2.00 ms before gemm, host in resize.",
        remedy="The host did something else for long: do that ahead, in other threads or processes, or on the device.",
    ),
    Case("idle-host-late", lambda: long_work(900_000), {"host": "resize"}, lambda: long_work(2_000_100)),
    Case("idle-allocator", made(gap(inside=("cudaMalloc", 100, 890, "runtime"))), {**IDLE, "part": 790}, made(late)),
    Case("idle-launch", made(gap(call=(110, 890))), {**IDLE, "part": 782, "worst": 780}, made(late)),
    Case(
        "idle-stream-wait", waited, {"idle": 791, "part": 790}, made(late),
        says="worst 790 ns before second, for event 3 of stream 8 (elsewhere).",
    ),
    Case(
        "idle-queued", made(gap(call=(20, 30), inside=("cudaGetDevice", 40, 41, "runtime"))), {**IDLE, "part": 800},
        made(late),
    ),
    Case("idle-queue-empty", made(gap(call=(10, 12), inside=("save", 1000, 9000, "span"))), {"part": 8000}, made(late)),
    Case("idle-unknown", unlaunched, {"idle": 800, "part": 800}, made(late), confidence="unknown"),
    Case("more-devices", lambda: devices(6), {"devices": 3, "least": 0, "most": 200, "wall": 1000}, lambda: devices(3)),
]  # fmt: skip
