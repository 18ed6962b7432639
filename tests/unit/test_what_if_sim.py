"""Programs on `sim`, run before and after each kind of edit: the prediction is the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import eventide as et
from eventide import analysis
from eventide.analysis import View, what_if
from eventide.analysis.schedule._replay import finish_of, model_of

Submit = Callable[..., Any]
TIMES = {"load": 0.002, "copy": 0.001, "gemm": 0.003, "tiny": 0.0001}


def work(name: str, factor: float = 1) -> Callable[[], None]:
    def function() -> None:
        pass

    function.__name__ = function.__qualname__ = name
    return et.work(duration=TIMES[name] * factor)(function)


def run(
    *,
    factors: dict[str, float] | None = None,
    without: tuple[str, ...] = (),
    wait: bool = True,
    sync: bool = True,
    moved: tuple[str, ...] = (),
    steps: int = 6,
) -> et.Trace:
    """Steps: load and copy on one stream, gemm on another that waits for the copy."""
    factors = factors or {}
    with et.Recorder() as recorder:
        first, second, third = (et.Stream("sim:0", name=name) for name in ("first", "second", "third"))

        def submit(stream: et.Stream, name: str) -> None:
            if name not in without:
                (third if name in moved else stream).submit(work(name, factors.get(name, 1)))

        submit(third, "tiny")
        for step in range(steps):
            with et.span("step", number=step):
                submit(first, "load")
                submit(first, "copy")
                ready = first.record_event()
                if wait:
                    second.wait_event(ready)
                submit(second, "gemm")
                if sync:
                    second.synchronize()
        for stream in (first, second, third):
            stream.synchronize()
    trace = recorder.trace
    assert trace.metadata["clock"]["name"] == "virtual"
    assert trace.metadata["warnings"] == []
    return trace


def wall(trace: et.Trace) -> int:
    view = View(trace)
    network = model_of(view).network
    return finish_of(network, network.until) - view.window[0]


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (analysis.scale("gemm", 0.5), {"factors": {"gemm": 0.5}}),
        (analysis.scale("load", 3), {"factors": {"load": 3}}),
        (analysis.remove("copy"), {"without": ("copy",)}),
        (analysis.drop_wait("gemm"), {"wait": False}),
        (analysis.drop_sync(), {"sync": False}),
        (analysis.move("load", "third"), {"moved": ("load",)}),
        (analysis.overlap("load", "copy"), {"moved": ("load",)}),
    ],
    ids=str,
)
def test_the_prediction_is_the_run(edit, after):
    exact(what_if(run(), edit), run(**after))


def exact(found: analysis.WhatIf, after: et.Trace) -> None:
    truth = wall(after)
    assert abs(found.predicted - truth) <= 0.001 * truth
    assert found.low <= truth <= found.high
    found.trace.check()


def test_several_edits_at_once_are_the_run_that_has_them_all():
    edits = (analysis.scale("gemm", 2), analysis.drop_sync(), analysis.move("load", "third"), analysis.remove("copy"))
    after = run(factors={"gemm": 2}, without=("copy",), sync=False, moved=("load",))
    found = what_if(run(), *edits)
    # The host runs ahead of all streams; each gemm still waits for the record behind the load before it.
    assert abs(found.predicted - wall(after)) <= 0.001 * wall(after)


def test_a_removed_host_span_takes_its_work_with_it():
    found = what_if(run(), analysis.remove("step"))
    assert "gemm" not in found.trace.spans.column("name").to_pylist()
    assert abs(found.predicted - wall(run(steps=0))) <= 10_000  # ns; a submission costs a microsecond


def many(names: list[str], streams: int = 1, limit: int | None = None, factor: float = 1) -> et.Trace:
    """Work in turn on some streams."""
    with et.Recorder() as recorder:
        used = [et.Stream("sim:0", max_pending=limit) for _ in range(streams)]
        for place, name in enumerate(names):
            used[place % streams].submit(work(name, factor))
        for stream in used:
            stream.synchronize()
    return recorder.trace


def test_fused_work_takes_as_long_as_one_work():
    exact(what_if(many(["tiny"] * 20), analysis.fuse("tiny")), many(["tiny"], factor=20))


@pytest.mark.parametrize("more", [1, 2])
def test_work_is_spread_over_more_streams(more):
    names = ["load", "gemm", "copy"] * 4
    exact(what_if(many(names), analysis.add_streams(more)), many(names, streams=more + 1))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_stream_with_a_limit_holds_the_host_back(limit):
    """submit waits while `limit` items are queued behind the one that runs."""

    def program(limit: int | None) -> et.Trace:
        with et.Recorder() as recorder:
            narrow, wide = et.Stream("sim:0", max_pending=limit), et.Stream("sim:0")
            for place in range(8):
                narrow.submit(work("gemm"))
                wide.submit(work("load", 0.5 if place < 7 else 10))
            narrow.synchronize()
            wide.synchronize()
        return recorder.trace

    free, held = program(None), program(limit)
    found = what_if(free, analysis.queue_depth(limit + 1))
    assert found.predicted > 1.05 * wall(free)
    exact(found, held)


def test_faster_copies_are_those_of_a_faster_device():
    def program(name: str, duration: float) -> et.Trace:
        et.Device.register(et.backends.Sim(duration=duration), name=name)
        with et.Recorder() as recorder:
            stream = et.Stream(f"{name}:0")
            source, target = bytearray(8), bytearray(8)
            for _ in range(5):
                stream.copy(target, source)
                stream.submit(work("gemm"))
                stream.synchronize()
        return recorder.trace

    slow = program("slow_copies", 0.004)
    assert "copy" in slow.spans.column("category").to_pylist()
    exact(what_if(slow, analysis.faster_copies(4)), program("fast_copies", 0.001))


def test_the_cost_of_a_launch_is_not_in_a_recording_of_submissions():
    with pytest.raises(et.UsageValueError, match="does not record launching calls, so their cost is not known"):
        what_if(run(), analysis.launch_cost(2))


def test_a_recording_that_begins_late_begins_where_the_clock_is():
    stream = et.Stream("sim:0")
    stream.submit(work("gemm"))
    stream.synchronize()
    with et.Recorder() as recorder:
        stream.submit(work("load"))
        stream.synchronize()
    launch = next(edge for edge in recorder.trace.edges.to_pylist() if edge["kind"] == "launch")
    assert 0 < launch["to_time"] - launch["from_time"] <= 2_000


def test_what_the_host_does_is_on_the_virtual_clock():
    trace = run()
    assert trace.counters.num_rows == 0
    steps = [row for row in trace.spans.to_pylist() if row["name"] == "step"]
    assert all(step["duration"] > 3_000_000 for step in steps)
    assert sum(step["duration"] for step in steps) < 50_000_000
    for edge in trace.edges.to_pylist():
        assert edge["from_time"] <= edge["to_time"]


def test_the_verdict_names_the_race_that_an_edit_makes():
    buffer = bytearray(64)

    @et.work(writes="data", duration=0.001)
    def fill(data: bytearray) -> None:
        pass

    @et.work(reads="data", duration=0.001)
    def use(data: bytearray) -> None:
        pass

    with et.Recorder() as recorder:
        first, second = et.Stream("sim:0", name="first"), et.Stream("sim:0")
        first.submit(fill, buffer)
        second.wait_event(first.record_event())
        second.submit(use, buffer)
        second.synchronize()
    trace = recorder.trace
    dropped = what_if(trace, analysis.drop_wait("*use"))
    assert dropped.verdict is not None
    assert "race" in dropped.verdict.races[0]
    assert "order: the edit makes a race" in str(dropped)
    kept = what_if(trace, analysis.move("*use", "first"))
    assert kept.verdict is not None
    assert (kept.verdict.races, kept.verdict.known) == ((), 2)
    assert what_if(trace, analysis.scale("*use", 2)).verdict is None


def test_an_edit_that_makes_a_race_is_no_recommendation():
    buffer = bytearray(64)

    @et.work(writes="data", duration=0.003)
    def fill(data: bytearray) -> None:
        pass

    @et.work(reads="data", duration=0.003)
    def use(data: bytearray) -> None:
        pass

    with et.Recorder() as recorder:
        first, second = et.Stream("sim:0", name="first"), et.Stream("sim:0")
        for _ in range(4):
            first.submit(fill, buffer)
            second.wait_event(first.record_event())
            second.submit(use, buffer)
            second.synchronize()
    found = analysis.best_edits(recorder.trace)
    assert {row.edit for row in found.rows} == {"scale 0.5"}
    assert {row.call for row in found.races} == {"drop_wait()", "drop_sync()"}
    assert "left out: drop_sync() saves" in str(found)
    assert "but the edit makes a race: " in str(found)


def test_times_on_a_core_are_not_beside_virtual_durations():
    assert run().spans.column("cpu").null_count == run().spans.num_rows
