"""Our session at torch's own profiler: operators of all threads, beside the program's profilers and in its forks."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from typing import Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT
from tests.integration import processes
from tests.integration.heard import Heard

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.adapters import _torch_profilers as profilers  # noqa: E402 - only where torch is
from eventide.adapters.torch import install, uninstall  # noqa: E402
from eventide.profiler._torch_run import TorchRun  # noqa: E402


@pytest.fixture
def adapter():
    install()
    yield
    uninstall()


def in_thread(act) -> int:
    found: list[int] = []

    def run() -> None:
        found.append(threading.get_native_id())
        act()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(TIMEOUT)
    return found[0]


def test_operators_of_every_thread_stand_on_the_track_of_their_thread(adapter):
    net = torch.nn.Linear(8, 8)
    with Heard() as heard:
        with et.span("mine"):
            net(torch.ones(2, 8)).sum().backward()
        other = in_thread(lambda: torch.ones(3) + 1)
    main = [row for row in heard.rows("op") if row["where"]["tid"] == os.getpid()]
    assert {"aten::linear", "aten::addmm", "AddmmBackward0"} <= {row["name"] for row in main}
    assert "aten::add" in [row["name"] for row in heard.rows("op") if row["where"]["tid"] == other]
    (mine,) = heard.rows("span")
    assert {row["track"] for row in main} == {mine["track"]}
    assert heard.told["operators"] == len(heard.rows("op"))
    assert heard.told["held"] is False
    assert heard.trace.metadata["warnings"] == []


def test_operators_lie_inside_of_the_span_around_them_on_one_clock(adapter):
    with Heard() as heard:
        torch.ones(3)
        with et.span("around"):
            before = time.monotonic_ns()
            torch.zeros(3)
            after = time.monotonic_ns()
    zeros = next(row for row in heard.rows("op") if row["name"] == "aten::zeros")
    error = heard.told["clock_error_ns"] + 50_000  # Kineto's own clock is a guess at Unix time
    assert before - error <= zeros["start"]
    assert zeros["start"] + zeros["duration"] <= after + error


def test_the_gradient_of_an_operator_is_tied_to_it(adapter):
    net = torch.nn.Linear(8, 8)
    with Heard() as heard:
        net(torch.ones(2, 8)).sum().backward()
    spans = heard.trace.spans.to_pylist()
    start_of = {(row["track"], row["start"]): row["name"] for row in reversed(spans)}
    tied = {
        (start_of[edge["from_track"], edge["from_time"]], start_of[edge["to_track"], edge["to_time"]])
        for edge in heard.trace.edges.to_pylist()
        if edge["kind"] == "fwdbwd"
    }
    assert ("aten::addmm", "AddmmBackward0") in tied


def test_shapes_and_flops_come_with_the_operators_when_asked_for(adapter):
    x = torch.ones(2, 8)
    with Heard(shapes=True, flops=True) as heard:
        x @ torch.ones(8, 4)
    (product,) = [row for row in heard.rows("op") if row["name"] == "aten::mm"]
    about = json.loads(product["args"])
    assert about["shapes"] == [[2, 8], [8, 4]]
    assert about["types"] == ["float", "float"]
    assert about["flops"] == 2 * 2 * 8 * 4


def test_what_the_program_annotated_is_an_annotation(adapter):
    with Heard() as heard, torch.profiler.record_function("theirs"):
        torch.ones(1)
    assert heard.names("annotation") == ["theirs"]


def test_a_recording_inside_of_ours_has_its_operators(adapter):
    with Heard() as heard:
        with et.Recorder() as inner:
            torch.ones(1)
        torch.empty(1)
    names = [row["name"] for row in inner.trace.spans.to_pylist()]
    assert "aten::ones" in names
    assert heard.names()[-1] == "aten::empty"


def test_a_profile_of_ours_inside_of_a_session_hears_each_operator_once(adapter):
    with Heard() as heard:
        with et.profile() as prof:
            torch.ones(3) + 1
        torch.empty(1)
    assert [row["name"] for row in prof.result.trace.spans.to_pylist() if row["category"] == "op"] == [
        "aten::ones",
        "aten::add",
    ]
    assert heard.names().count("aten::add") == 1
    assert heard.names()[-1] == "aten::empty"


def test_it_is_closed_on_another_thread_than_it_was_opened_on(adapter):
    with Heard() as heard:
        torch.ones(1)
        in_thread(heard.session.close)
    assert "aten::ones" in heard.names()


def test_after_the_limit_nothing_more_is_heard_and_the_trace_says_so(adapter):
    with Heard(seconds=1e6) as heard:
        torch.ones(1)
        heard.session.enough()  # what the clock does
        torch.empty(7)
    assert heard.names() == ["aten::ones", "aten::empty", "aten::fill_"]
    (warning,) = heard.trace.metadata["warnings"]
    assert warning == (
        "torch's operators were heard for a time only, 1e+06 s from its import, and 1e+06 s from the first step of an "
        "optimizer; --torch-seconds sets how long"
    )


def test_the_limit_comes_by_itself(adapter):
    with Heard(seconds=1e-3) as heard:
        deadline = time.monotonic() + TIMEOUT
        while not heard.session.account.limit_s and time.monotonic() < deadline:
            torch.ones(1)
    assert "heard for a time only, 0.001 s" in heard.trace.metadata["warnings"][0]


def test_the_first_step_of_an_optimizer_begins_the_time_anew(adapter):
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with et.Recorder() as recorder:
        run = TorchRun(("ops",), 1e6)
        torch.zeros(7)
        run._session.enough()  # what the clock does
        torch.ones(7)
        for _ in range(2):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
        run.close()
    names = Counter(row["name"] for row in recorder.trace.spans.to_pylist())
    assert (names["aten::zeros"], names["aten::ones"], names["aten::linear"]) == (1, 1, 1)  # of the second step
    assert (names["ProfilerStep#0"], names["ProfilerStep#1"]) == (1, 1)


def test_a_forked_child_goes_its_own_way(adapter):
    with Heard() as heard:
        torch.ones(1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                heard.session.close()  # the parent's: does nothing
                with torch.profiler.profile() as prof:
                    torch.zeros(1)
                code = 0 if "aten::zeros" in {event.name for event in prof.events()} else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        torch.empty(7)
    assert heard.names() == ["aten::ones", "aten::empty", "aten::fill_", "aten::empty"]


def test_kineto_prints_nothing_for_our_sake_and_the_environment_is_as_it_was():
    ended = processes.run("torch_quiet").check(0)  # a process of its own: Kineto looks once at how much it may say
    assert (ended.out, ended.err) == ("['aten::ones', 'aten::empty', 'aten::fill_']\n", "")


def test_torch_is_as_it_was_after_uninstall():
    before = [getattr(torch.autograd.profiler, name) for name in profilers.NAMES]
    install()
    assert [getattr(torch.autograd.profiler, name) for name in profilers.NAMES] != before
    install()
    uninstall()
    assert [getattr(torch.autograd.profiler, name) for name in profilers.NAMES] == before


def test_a_torch_without_these_functions_is_one_line(adapter, monkeypatch, caplog):
    monkeypatch.delattr(torch._C._profiler, "_ExperimentalConfig")
    with et.Recorder() as recorder:
        run = TorchRun(("ops",), 0.0)
        torch.ones(1)
        run.close()
    (line,) = recorder.trace.metadata["warnings"]
    assert line.startswith(f"torch {torch.__version__}: its operators are not heard: AttributeError")
    assert [record.message for record in caplog.records] == [line]


def test_a_kineto_that_cannot_start_is_one_line(adapter, monkeypatch, caplog):
    def refuse(*_: Any) -> None:
        raise RuntimeError("no profiler\nin this build")

    monkeypatch.setattr(torch.autograd, "_enable_profiler", refuse)
    with Heard() as heard:
        torch.ones(1)
    assert heard.trace.metadata["warnings"] == [
        "torch's operators are not heard: RuntimeError: no profiler in this build"
    ]
    assert [record.message for record in caplog.records] == heard.trace.metadata["warnings"]
