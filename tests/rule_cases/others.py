"""Rules about the file, about what devices and the host did, about the critical path, and about what is not known."""

from __future__ import annotations

from eventide.trace import Trace
from tests.rule_cases.case import Case, busy, gap, made
from tests.rule_cases.idle import copies, late, launched, unlaunched
from tests.trace_builder import Builder


def beside(category: str, *, hidden: int) -> Trace:
    """100 ns of one category from 500 ns on, the last `hidden` of them beside computation; computation until 500 ns."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 500)
    b.launch((3, 4), "moved", 500, 600, stream=8, category=category)
    b.launch((4, 5), "gemm", 600 - hidden, 1000)
    return b.trace(source="test")


def unlaunched_among_launched() -> Trace:
    """Work whose call is recorded, and after a gap of 800 ns some whose call is not."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    b.work("gemm", 900, 1000)
    return b.trace(source="kineto")


def synchronized(times: int) -> Trace:
    """A busy device, and calls that block for 100 ns each."""
    b = busy()
    for at in range(times):
        b.call("cudaDeviceSynchronize", 100 + 200 * at, 200 + 200 * at, category="sync")
    return b.trace(source="test")


def waited_for_copy(memory: str) -> Trace:
    """The host in a synchronization, until the copy that it had launched ends."""
    b = Builder()
    copy = b.launch((0, 10), f"Memcpy HtoD ({memory} -> Device)", 10, 790, category="copy", called="cudaMemcpyAsync")
    b.edge("synchronize", copy, b.call("cudaStreamSynchronize", 20, 800, category="sync"))
    b.launch((900, 910), "gemm", 910, 1000)
    return b.trace(source="kineto")


def compiled(nanoseconds: int) -> Trace:
    b = busy()
    b.span(b.thread(), "inductor", 20, 20 + nanoseconds, "compile")
    return b.trace(source="test")


def steps(*lengths: int) -> Trace:
    b, at = busy(), 0
    for number, length in enumerate(lengths):
        b.span(b.thread(), f"ProfilerStep#{number}", at, at + length, "step")
        at += length
    return b.trace(source="test")


def worked(cpu: int) -> Trace:
    b = Builder()
    b.span(b.stream(0, "cpu:0"), "sum", 0, 1000, "work", cpu=cpu)
    return b.trace(source="eventide")


def blocked_host() -> Trace:
    """Host code fills the path, and the gaps lie in calls that block."""
    b = gap(inside=("cudaDeviceSynchronize", 50, 800, "sync"))
    return b.trace(source="test")


def mixed() -> Trace:
    """Half of the path is the host's, half the device's."""
    b = Builder()
    b.span(b.thread(), "prepare", 0, 500)
    b.launch((500, 501), "gemm", 501, 1000)
    return b.trace(source="test")


def not_launched() -> Trace:
    """Host code from start to end, and a device of which no launch is recorded."""
    b = Builder()
    b.span(b.thread(), "prepare", 0, 1000)
    b.work("gemm", 300, 400)
    return b.trace(source="test")


def busy_until_100() -> Builder:
    """Work until 100 of 1000 ns, and a host that is in something else from then on."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    b.span(b.thread(), "save", 200, 1000)
    return b


def stopped_early() -> Trace:
    """A profiler that holds a launch and not what it launched."""
    b = busy_until_100()
    b.call("cudaLaunchKernel", 110, 120)
    return b.trace(source="kineto")


def silent_host(source: str) -> Trace:
    b = gap()
    return b.trace(source=source)


def skewed(late: int) -> Trace:
    """A copy call that returns before its copy ends."""
    b = Builder()
    b.launch((0, 500), "Memcpy HtoD (Pageable -> Device)", 100, 500 + late, category="copy", called="cudaMemcpy")
    b.launch((600, 601), "gemm", 900, 1000)
    return b.trace(source="test")


def unfinished() -> Trace:
    b = busy()
    b.span(b.thread(2), "serve", 10, None, "span")
    return b.trace(source="test")


def unknown_waits(source: str) -> Trace:
    b = Builder()
    for call, start, end in (((0, 2), 2, 10), ((12, 14), 900, 1000)):
        b.launch(call, "gemm", start, end)
    return b.trace(source=source)


def profiled(pause: int, *, called: str = "annotation") -> Trace:
    """A profiler that starts, nothing for a while, and then 300 ms of a program whose device works for 200 ms."""
    b, ms = Builder(), 1_000_000
    b.span(b.thread(), "start_trace", 0, ms, called)
    b.span(b.thread(), "main", ms + pause, 301 * ms + pause)
    b.launch((2 * ms + pause, 3 * ms + pause), "gemm", 3 * ms + pause, 203 * ms + pause)
    return b.trace(source="jax")


def keeps_up(name: str = "gemm", category: str = "kernel") -> Trace:
    """A host that needs all of the time, and a device that works for 850 of 1000 ns."""
    b = Builder()
    b.span(b.thread(), "step", 0, 1000)
    for at in range(0, 1000, 100):
        b.launch((at + 10, at + 15), name, at + 15, at + 100, category=category)
    return b.trace(source="eventide")


def in_the_middle(first: int) -> Trace:
    """A recording that begins while the device does something that was queued before."""
    b = Builder()
    b.launch((0, 5), "gemm", first, 800)
    b.call("cudaEventQuery", 6, 7)
    b.launch((10, 12), "gemm", 900, 1000)
    return b.trace(source="kineto")


OPTION = "torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)"
CASES = [
    Case(
        "cut-file", made(late, account={"lost_bytes": 1200}), {"lost_bytes": 1200}, made(late),
        says="The file was cut: 1,200 bytes at its end could not be read.",
    ),
    Case(
        "cut-file", made(late, account={"missing": {"spans": 3, "counters": 1}}), {"lost_bytes": 0}, made(late),
        says="The file was cut: 3 spans, 1 counters are missing.",
    ),
    Case(
        "exposed-communication", lambda: beside("communication", hidden=40),
        {"exposed": 60, "total": 100, "hidden": 40, "wall": 1000}, lambda: beside("communication", hidden=90),
    ),
    Case(
        "exposed-copies", lambda: beside("copy", hidden=40), {"exposed": 60, "wall": 1000, "name": "moved", "count": 1},
        lambda: beside("copy", hidden=60), says="60 ns with nothing but copies (6.0 %), most in moved (1 times).",
    ),
    Case(
        "host-blocked", lambda: synchronized(2), {"count": 2, "total": 200, "name": "cudaDeviceSynchronize"},
        lambda: synchronized(0), says="for 200 ns, in cudaDeviceSynchronize; cuda:0 worked for 100 % of it.",
    ),
    Case(
        "host-blocked-by-copies", lambda: copies("Memcpy HtoD (Pageable -> Device)"), {"count": 1, "total": 800},
        lambda: copies("Memcpy DtoH (Device -> Pageable)"),
    ),
    Case(
        "host-blocked-by-copies", lambda: waited_for_copy("Pageable"), {"count": 1, "total": 780},
        lambda: waited_for_copy("Pinned"),  # pinned memory is no advice for memory that is pinned
    ),
    Case(
        "host-blocked-by-launches", lambda: launched(100_000), {"count": 4, "total": 400_000, "worked": 360_000},
        lambda: launched(20_000), confidence="inferred",
    ),
    Case("host-bottleneck", made(late), {"kind": "host"}, lambda: launched(100_000)),
    Case("compile-time", lambda: compiled(10), {"compiles": 1, "time": 10, "wall": 1000}, lambda: compiled(9)),
    Case(
        "slow-step", lambda: steps(100, 100, 120, 100), {"step": "ProfilerStep#2", "time": 120, "median": 100},
        lambda: steps(100, 100, 119, 100), more={"place": (200, 320)},
        remedy="See what was different: `eventide trace critical-path TRACE --step 2`.",
    ),
    Case("off-cpu", lambda: worked(900), {"off": 100, "total": 1000, "name": "sum"}, lambda: worked(901)),
    Case("device-bottleneck", made(busy()), {"kind": "compute", "kind_time": 998, "wall": 1000}, mixed),
    Case("host-bottleneck", made(late), {"kind": "host", "wall": 1000}, blocked_host),
    Case("host-bottleneck", made(late), {"kind": "host"}, made(late, account={"lost_bytes": 1})),
    Case("host-bottleneck", made(late), {"kind": "host"}, stopped_early),
    Case(
        "path-unrecorded", lambda: silent_host("eventide"), {"kind": "unrecorded host"}, made(late),
        remedy="Record what the host did: et.span around it.", confidence="unknown",
    ),
    Case(
        "device-busy", keeps_up, {"device": "cuda:0", "busy": 850, "idle": 150, "wall": 1000, "kind": "host"},
        made(late), says="cuda:0 was busy 85 % of 1.00 us: a faster host saves at most 150 ns.",
        remedy="Make its kernels faster: `eventide trace kernels` and `eventide trace flops` show which are slow.",
    ),
    Case(
        "device-busy", lambda: keeps_up("ncclAllReduce", "communication"), {"busy": 850}, made(late),
        more={"remedy": None},  # it does not compute
    ),
    Case("critical-path", not_launched, {"kind": "host", "wall": 1000}, made(busy())),
    Case("critical-path", mixed, {"kind": "host", "wall": 1000}, made(busy())),
    Case(
        "unknown-waits", lambda: unknown_waits("kineto"), {"unknown": 886, "option": OPTION}, made(late),
        confidence="unknown",
    ),
    Case(
        "unknown-waits", unlaunched_among_launched, {"unknown": 800, "option": None}, made(late), confidence="unknown",
        says="The cause of 800 ns of idle time: most of it before work whose launch is not recorded.",
    ),
    Case("unknown-launches", unlaunched, {"unknown": 800}, lambda: unknown_waits("kineto"), confidence="unknown"),
    Case(
        "unknown-start", lambda: in_the_middle(405), {"unknown": 400, "idle": 505}, lambda: in_the_middle(5),
        confidence="unknown",
    ),
    Case(
        "unknown-end", stopped_early, {"unknown": 890, "idle": 902}, made(late), confidence="unknown",
        says="in the 890 ns after their last recorded work: later calls launched work that is not recorded.",
    ),
    Case(
        "unknown-end", made(busy_until_100(), account={"lost_bytes": 1}), {"unknown": 900, "idle": 902},
        made(busy_until_100()), confidence="unknown", says="the end of the file is missing.",
    ),
    Case(
        "outside-window", lambda: profiled(9_700_000_000), {"time": 9_701_000_000, "name": "start_trace"},
        lambda: profiled(250_000_000), confidence="unknown",
        says="What happened for 9.70 s before the traced part: only start_trace is recorded there.",
    ),
    Case(
        "outside-window", lambda: profiled(9_700_000_000), {"more": None},
        lambda: profiled(9_700_000_000, called="compile"), confidence="unknown",
    ),
    Case("clock-skew", lambda: skewed(20), {"skew": 20}, lambda: skewed(0), confidence="unknown"),
    Case("unfinished-spans", unfinished, {"spans": 1}, made(busy())),
    Case(
        "incomplete-recording", made(busy(), account={"dropped": {"buffer full": 3, "ring": 4}}), {"lost": 7},
        made(busy(), account={"dropped": {"buffer full": 0}}), says="7 records lost",
    ),
    Case(
        "dropped-by-profile", made(busy(), profiler={"dropped": {"without an end": 2, "too early": 0}}),
        {"reasons": "2 without an end"}, made(busy(), profiler={"dropped": {"without an end": 0}}),
    ),
    Case(
        "warnings-of-the-recording", made(busy(), warnings=["the clock jumped"]), {"warning": "the clock jumped"},
        made(busy()),
    ),
]  # fmt: skip
