"""The dependency graph and its schedule: an unedited trace is explained by lags of classes, never by one of a work."""

from __future__ import annotations

from eventide.analysis import View, remove, replay, what_if
from eventide.analysis.schedule._dependencies import INFERRED, QUEUE, SYNC, WAIT
from eventide.analysis.schedule._inferred_edges import completed
from eventide.analysis.schedule._replay import model_of
from eventide.trace import Trace
from tests.trace_builder import Builder

US = 1_000


def loop(steps: int = 5) -> Builder:
    """Each step launches two kernels and waits for them; the second is queued behind the first."""
    b = Builder()
    for step in range(steps):
        t = step * 1_000 * US
        b.span(b.thread(), f"ProfilerStep#{step}", t, t + 1_000 * US, "step")
        b.launch((t + 10 * US, t + 16 * US), "gemm", t + 20 * US, t + 500 * US)
        second = b.launch((t + 30 * US, t + 36 * US), "relu", t + 502 * US, t + 900 * US)
        sync = b.call("cudaStreamSynchronize", t + 40 * US, t + 905 * US, category="sync")
        b.edge("synchronize", second, sync)
        b.span(b.thread(), "log", t + 910 * US, t + 990 * US)
    return b


def test_a_regular_program_replays_to_the_nanosecond():
    found = replay(loop().trace())
    assert [(row.name, row.error) for row in found.rows][:3] == [("trace", 0), ("device end", 0), ("ProfilerStep#0", 0)]
    assert (found.error, found.explained, found.queues) == (0, 1, {})
    assert found.edges["sync"] == {"recorded": 5}
    assert str(found).startswith("Replay: recorded 5.00 ms, replayed 5.00 ms; the model does not explain 0.00 %")
    assert found.graph.column_names == ["source", "target", "kind", "origin", "class"]


def test_a_single_work_has_no_lag_of_its_own():
    b = loop()
    b.launch((5_000 * US, 5_006 * US), "late", 5_700 * US, 5_800 * US)
    found = replay(b.trace())
    assert found.replayed < found.wall - 600 * US  # one launch of six that took 700 us: it is not explained
    assert found.error > 0.1
    assert found.explained < 1


def test_a_blocked_call_keeps_only_what_it_costs_without_waiting():
    network = model_of(View(loop().trace())).network
    syncs = network.links.take(network.links.kind == SYNC)
    assert (network.duration[syncs.target] == 0).all()


def test_waits_are_inferred_only_where_none_is_recorded():
    def program(recorded: bool) -> Builder:
        b = Builder()
        for step in range(4):
            t = step * 1_000 * US
            copy = b.launch((t, t + 5 * US), "copy", t + 10 * US, t + 400 * US, stream=20, category="copy")
            b.call("cudaStreamWaitEvent", t + 6 * US, t + 7 * US)
            after = b.launch((t + 8 * US, t + 12 * US), "gemm", t + 402 * US, t + 800 * US)
            if recorded and step == 0:
                b.edge("wait", copy, after)
        return b

    inferred = completed(View(program(recorded=False).trace())).links
    assert ((inferred.kind == WAIT) & (inferred.origin == INFERRED)).sum() == 4
    recorded = completed(View(program(recorded=True).trace())).links
    assert ((recorded.kind == WAIT) & (recorded.origin == INFERRED)).sum() == 0


def test_a_full_launch_queue_has_its_depth_and_its_edges():
    b = Builder()
    depth, works, short = 32, 200, 140  # from then on the device is slower than the host
    ends = [0] * works
    asked = 0
    for n in range(works):
        returned = asked + 4 * US
        if n >= depth and ends[n - depth] > returned:
            returned = ends[n - depth] + 1 * US
        start = max(asked + 6 * US, ends[n - 1] + 1 * US if n else 0)
        ends[n] = start + (2 * US if n < short else 50 * US)
        b.launch((asked, returned), "k", start, ends[n])
        asked = returned + 1 * US
    view = View(b.trace())
    found = replay(view)
    assert found.queues == {"cuda:0 stream 7": depth}
    assert found.edges["queue"] == {"inferred": works - depth}
    assert found.error < 0.001
    queue = completed(view).links
    assert (queue.group[queue.kind == QUEUE] == queue.group[queue.kind == QUEUE][0]).all()


def test_an_empty_trace_has_an_empty_schedule():
    found = replay(Trace({}))
    assert (found.wall, found.replayed, found.error) == (0, 0, 0)


def test_an_even_gap_between_works_is_no_property_of_their_stream():
    """Each work is launched when the last is complete, always 1 ms after it; how long the launch takes varies."""
    b = Builder()
    t, jitter = 0, (4, 13, 22, 9, 17, 5, 26, 11)
    for step, wait in enumerate(jitter):
        end = t + (wait + 300) * US
        work = b.launch((t, t + 3 * US), "gemm", t + wait * US, end)
        sync = b.call("cudaStreamSynchronize", t + 4 * US, end + 2 * US, category="sync")
        b.edge("synchronize", work, sync)
        t = end + (1_000 - jitter[(step + 1) % 8]) * US
        b.span(b.thread(), "load", end + 2 * US, t)
    found = what_if(b.trace(), remove("load"))
    assert found.predicted < found.wall - 7 * 960 * US


def test_a_call_that_waits_for_its_own_work_shows_no_queue():
    b = Builder()
    for n in range(90):
        t, took = n * 2_000 * US, 3 * US if n % 3 else 1_000 * US
        b.launch((t, t + took + 10 * US), "k", t + 10 * US, t + 10 * US + took)
    assert replay(b.trace()).queues == {}


def test_one_graph_of_many_works_shows_no_queue():
    b = Builder()
    for n in range(300):
        b.launch((n * 20 * US, n * 20 * US + 3 * US), "k", n * 20 * US + 5 * US, n * 20 * US + 10 * US)
    call = b.call("cudaGraphLaunch", 5_990 * US, 6_010 * US)
    for n in range(100):
        b.edge("launch", call, b.work("k", (6_009 + 10 * n) * US, (6_018 + 10 * n) * US))
    assert replay(b.trace()).queues == {}


def test_work_that_a_device_launches_has_no_host_thread():
    b = Builder()
    parent, child = b.work("parent", 0, 10 * US), b.work("child", 5 * US, 20 * US, stream=20)
    b.edge("launch", parent, child)
    assert replay(b.trace()).wall == 20 * US


def test_gaps_that_are_assumed_are_no_proof_of_the_model():
    b = Builder()
    for n in range(10):
        b.work("fusion", n * 200 * US, (n * 200 + 50 + n) * US)
    found = replay(b.trace())
    assert found.replayed == found.wall
    assert "10 of 10 work items keep the recorded gap before them, since no launch is recorded" in str(found)
    assert "keep the recorded gap" not in str(replay(loop().trace()))
