"""The program's own torch.profiler beside our session: it has the same result as without us, and we import it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

import eventide as et
from tests.integration.processes import ROOT
from tests.integration.traced import Traced
from tests.kineto_event import events_of

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("torch_adapter")]
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch import _profilers as profilers  # noqa: E402 - only where torch is
from eventide.integrations.torch import _session  # noqa: E402
from eventide.integrations.torch._kineto import Kineto  # noqa: E402

EVENT_SYNC = ROOT.parent / "shared" / "traces" / "nvidia_event_sync.json.gz"


def profiled(profile, steps: int = 1) -> Any:
    """What a program does with a profiler of its own."""
    with profile as prof:
        for _ in range(steps):
            with et.span("of ours"):
                torch.ones(3) + 1
            if hasattr(prof, "step"):
                prof.step()
    return prof


def test_a_profiler_of_the_program_has_the_same_result_as_without_us(tmp_path):
    alone = profiled(torch.profiler.profile(record_shapes=True))
    with Traced() as traced:
        torch.zeros(1)
        beside = profiled(torch.profiler.profile(record_shapes=True))
        torch.empty(1)
    counts = [Counter(event.name for event in prof.events()) for prof in (alone, beside)]
    assert counts[1] == counts[0]
    assert [(row.key, row.count) for row in beside.key_averages()] == [
        (row.key, row.count) for row in alone.key_averages()
    ]
    beside.export_chrome_trace(str(tmp_path / "theirs.json"))
    assert "aten::add" in {row["name"] for row in json.loads((tmp_path / "theirs.json").read_text())["traceEvents"]}
    # Before, theirs and after: all of it is in our trace, and once.
    names = Counter(traced.names())
    assert (names["aten::zeros"], names["aten::add"], names["aten::ones"]) == (1, 1, 1)
    assert traced.names()[-1] == "aten::empty"
    assert traced.account["imported"] == 1


def test_our_spans_are_in_the_program_s_profile_and_not_twice_in_ours():
    with Traced() as traced:
        prof = profiled(torch.profiler.profile())
        with et.span("later"):
            torch.ones(1)
    assert "of ours" in {event.name for event in prof.events()}
    assert "later" not in {event.name for event in prof.events()}
    assert traced.names("span") == ["of ours", "later"]
    assert "of ours" not in traced.names() + traced.names("annotation")


def test_a_record_function_of_the_same_name_inside_of_a_span_stays():
    with Traced() as traced, torch.profiler.profile(), et.span("twin"), torch.profiler.record_function("twin"):
        torch.ones(1)
    assert traced.names("span") == ["twin"]
    assert traced.names("annotation") == ["twin"]


def test_spans_show_in_torch_s_profile_without_a_recording_of_ours():
    with torch.profiler.profile() as prof, et.span("shown", batch=3):
        torch.ones(1)
    assert [event.name for event in prof.events() if event.name == "shown"] == ["shown"]
    assert not profilers.running()


def test_a_span_may_outlive_the_profiler_that_it_was_reported_to() -> None:
    span = et.span("long")
    with Traced() as traced:
        with torch.profiler.profile() as prof:
            span.__enter__()
            torch.ones(1)
        span.__exit__(None, None, None)
    assert "aten::ones" in {event.name for event in prof.events()}
    assert traced.names("span") == ["long"]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_schedule_with_several_cycles_works_as_without_us():
    def cycles() -> list[Counter[str]]:
        found: list[Counter[str]] = []
        plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
        ready = lambda prof: found.append(Counter(event.name for event in prof.events()))  # noqa: E731
        profiled(torch.profiler.profile(schedule=plan, on_trace_ready=ready), steps=8)
        return found

    alone = cycles()
    with Traced() as traced:
        beside = cycles()
    assert len(beside) == 2
    assert beside == alone
    assert traced.account["imported"] == 2
    steps = Counter(traced.names("step"))
    assert (steps["ProfilerStep#2"], steps["ProfilerStep#5"]) == (1, 1)
    assert set(steps.values()) == {1}
    assert traced.names().count("aten::add") >= 4  # cycles of theirs, and of ours between them


def test_what_the_program_s_profiler_asked_for_is_imported_with_it() -> None:
    with Traced() as traced, torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True):
        kept = torch.empty(1000)
        del kept
    (empty,) = [row for row in traced.rows("op") if row["name"] == "aten::empty"]
    assert json.loads(empty["args"])["Input type"][0] == "ScalarList"
    memory = [json.loads(row["args"]) for row in traced.trace.instants.to_pylist() if row["name"] == "[memory]"]
    assert [(row["Bytes"], row["Device"]) for row in memory] == [(4000, "cpu:0"), (-4000, "cpu:0")]
    assert [row["value"] for row in traced.trace.counters.to_pylist()] == [4000, 0]
    assert any("empty" in name for name in traced.names("sample"))  # Python functions


def test_the_older_profiler_of_autograd_is_noticed_too():
    with Traced() as traced:
        with torch.autograd.profiler.profile(use_kineto=True) as prof:
            torch.ones(3) + 1
        torch.empty(1)
    assert "aten::add" in {row.key for row in prof.key_averages()}
    assert (traced.names().count("aten::add"), traced.names()[-1]) == (1, "aten::empty")


def test_a_profiler_that_runs_already_is_left_alone_and_its_result_imported():
    traced = Traced()
    with torch.profiler.profile() as prof:
        torch.zeros(1)
        traced.__enter__()
        torch.ones(1)
    torch.empty(1)
    traced.__exit__()
    assert {"aten::zeros", "aten::ones"} <= {event.name for event in prof.events()}
    assert {"aten::ones", "aten::empty"} <= set(traced.names())


def test_a_profiler_of_the_program_that_never_ends_is_reported():
    prof = torch.profiler.profile()
    with Traced() as traced:
        prof.start()
        torch.ones(1)
    prof.stop()
    assert "aten::ones" in {event.name for event in prof.events()}
    (warning,) = traced.trace.metadata["warnings"]
    assert warning == "a torch profiler of the program ran when the recording ended: its data is not in the trace"


@pytest.mark.skipif(not EVENT_SYNC.exists(), reason="needs the folder of real traces, ../shared/traces")
def test_a_profile_of_ours_has_what_devices_did_where_torch_can_hear_one(monkeypatch) -> None:
    """The device is a file of a real one: torch's functions are not reached, all behind them is."""

    began: list[int] = []

    class FromFile(Kineto):
        def start(self) -> None:
            pass

        def stop(self) -> Any:
            shift = began[0] - min(row.start_ns() for row in events_of(EVENT_SYNC, "CUDA"))
            return SimpleNamespace(events=lambda: events_of(EVENT_SYNC, "CUDA", shift, os.getpid()))

    monkeypatch.setattr(_session, "Kineto", FromFile)
    monkeypatch.setattr("eventide.integrations.torch._profile.has_devices", lambda: True)
    with et.profile() as prof:
        torch.empty(3)
        began.append(time.time_ns())
        while time.time_ns() < began[0] + 10_000_000:  # the file is 3 ms long
            pass
    spans = prof.result.trace.spans.to_pylist()
    assert [row["name"] for row in spans if row["category"] == "op"] == ["aten::empty"]  # once, none of the file's
    assert sum(row["category"] == "kernel" for row in spans) == 4
    assert Counter(edge["kind"] for edge in prof.result.trace.edges.to_pylist())["launch"] == 5


class Quiet:
    """Another user of the callback."""

    def profiler_starts(self) -> None:
        pass

    def profiler_stopped(self, result: Any) -> None:
        pass


def test_only_spans_that_were_reported_are_recognized_as_ours() -> None:
    reported = profilers.Annotations(str)
    profilers.listen(Quiet())
    before = time.time_ns()
    assert reported("mine") == "mine"
    here = threading.get_native_id()
    assert not reported.are_ours(here, "mine", before - 1_000_000)
    assert not reported.are_ours(here + 1, "mine", time.time_ns())
    assert not reported.are_ours(here, "other", time.time_ns())
    assert reported.are_ours(here, "mine", time.time_ns())
    assert not reported.are_ours(here, "mine", time.time_ns())
    profilers.listen(None)
