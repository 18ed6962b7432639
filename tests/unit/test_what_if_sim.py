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
    factors: dict[str, float] | None = None,
    without: tuple[str, ...] = (),
    wait: bool = True,
    sync: bool = True,
    moved: tuple[str, ...] = (),
) -> et.Trace:
    """Six steps: load and copy on one stream, gemm on another that waits for the copy."""
    factors = factors or {}
    with et.Recorder() as recorder:
        first, second, third = (et.Stream("sim:0", name=name) for name in ("first", "second", "third"))

        def submit(stream: et.Stream, name: str) -> None:
            if name not in without:
                (third if name in moved else stream).submit(work(name, factors.get(name, 1)))

        submit(third, "tiny")
        for step in range(6):
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
    ],
    ids=str,
)
def test_the_prediction_is_the_run(edit, after):
    found = what_if(run(), edit)
    truth = wall(run(**after))
    assert abs(found.predicted - truth) <= 0.001 * truth
    assert found.low <= truth <= found.high
    found.trace.check()


def test_fused_work_takes_as_long_as_one_work():
    def many(names: list[str], factor: float = 1) -> et.Trace:
        with et.Recorder() as recorder:
            stream = et.Stream("sim:0")
            for name in names:
                stream.submit(work(name, factor))
            stream.synchronize()
        return recorder.trace

    truth = wall(many(["tiny"], 20))
    assert abs(what_if(many(["tiny"] * 20), analysis.fuse("tiny")).predicted - truth) <= 0.001 * truth


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
