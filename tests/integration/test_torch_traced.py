"""What is traced of torch, by its callbacks and its own profiler: operators of all threads, memory, forks, limits."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from typing import Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT
from tests.integration.traced import Traced, in_thread

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch import _operators as operators  # noqa: E402 - only where torch is
from eventide.integrations.torch import _profilers as profilers  # noqa: E402
from eventide.integrations.torch import install, uninstall  # noqa: E402
from eventide.integrations.torch._run import TorchRun  # noqa: E402


@pytest.fixture(params=["callbacks", "profiler"])
def way(request) -> dict[str, bool]:
    """Operators are traced by one or the other: only the profiler has their shapes."""
    return {"shapes": request.param == "profiler"}


def test_operators_of_every_thread_stand_on_the_track_of_their_thread(torch_adapter, way):
    net = torch.nn.Linear(8, 8)
    with Traced(**way) as traced:
        with et.span("mine"):
            net(torch.ones(2, 8)).sum().backward()
        other = in_thread(lambda: torch.ones(3) + 1)
    main = [row for row in traced.rows("op") if row["where"]["tid"] == os.getpid()]
    assert {"aten::linear", "aten::addmm", "AddmmBackward0"} <= {row["name"] for row in main}
    assert "aten::add" in [row["name"] for row in traced.rows("op") if row["where"]["tid"] == other]
    (mine,) = traced.rows("span")
    assert {row["track"] for row in main} == {mine["track"]}
    assert traced.account["operators"] == len(traced.rows("op"))
    assert traced.account["held"] is False
    assert traced.trace.metadata["warnings"] == []


def test_operators_lie_inside_of_the_span_around_them_on_one_clock(torch_adapter, way):
    with Traced(**way) as traced:
        torch.ones(3)
        with et.span("around"):
            before = time.monotonic_ns()
            torch.zeros(3)
            after = time.monotonic_ns()
    zeros = next(row for row in traced.rows("op") if row["name"] == "aten::zeros")
    error = traced.account["clock_error_ns"] + 50_000  # Kineto's own clock is a guess at Unix time
    assert before - error <= zeros["start"]
    assert zeros["start"] + zeros["duration"] <= after + error


def test_the_gradient_of_an_operator_is_tied_to_it(torch_adapter, way):
    net = torch.nn.Linear(8, 8)
    with Traced(**way) as traced:
        net(torch.ones(2, 8)).sum().backward()
    spans = traced.trace.spans.to_pylist()
    start_of = {(row["track"], row["start"]): row["name"] for row in reversed(spans)}
    tied = {
        (start_of[edge["from_track"], edge["from_time"]], start_of[edge["to_track"], edge["to_time"]])
        for edge in traced.trace.edges.to_pylist()
        if edge["kind"] == "fwdbwd"
    }
    assert ("aten::addmm", "AddmmBackward0") in tied


def test_what_the_program_annotated_is_an_annotation(torch_adapter, way):
    with Traced(**way) as traced, torch.profiler.record_function("theirs"):
        torch.ones(1)
    assert traced.names("annotation") == ["theirs"]


def test_a_recording_inside_of_ours_has_its_operators(torch_adapter, way):
    with Traced(**way) as traced:
        with et.Recorder() as inner:
            torch.ones(1)
        torch.empty(1)
    names = [row["name"] for row in inner.trace.spans.to_pylist()]
    assert "aten::ones" in names
    assert traced.names()[-1] == "aten::empty"


def test_a_profile_of_ours_inside_of_a_session_traces_each_operator_once(torch_adapter, way):
    with Traced(**way) as traced:
        with et.profile() as prof:
            torch.neg(torch.empty(1))
        torch.empty(1)
    mine = [row["name"] for row in prof.result.trace.spans.to_pylist() if row["category"] == "op"]
    assert mine == ["aten::empty", "aten::neg"]
    assert traced.names().count("aten::neg") == 1
    assert traced.names()[-1] == "aten::empty"


def test_it_is_closed_on_another_thread_than_it_was_opened_on(torch_adapter, way):
    with Traced(**way) as traced:
        torch.ones(1)
        in_thread(traced.session.close)
    assert "aten::ones" in traced.names()


def test_a_forked_child_goes_its_own_way(torch_adapter, way):
    with Traced(**way) as traced:
        torch.ones(1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                traced.session.close()  # the parent's: does nothing
                with torch.profiler.profile() as prof:
                    torch.zeros(1)
                code = 0 if "aten::zeros" in {event.name for event in prof.events()} else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        torch.empty(7)
    assert traced.names() == ["aten::ones", "aten::empty", "aten::fill_", "aten::empty"]


def test_torch_is_as_it_was_after_uninstall():
    before = [getattr(torch.autograd.profiler, name) for name in profilers.NAMES]
    install()
    assert [getattr(torch.autograd.profiler, name) for name in profilers.NAMES] != before
    install()
    uninstall()
    assert [getattr(torch.autograd.profiler, name) for name in profilers.NAMES] == before


def test_operators_are_in_the_trace_before_anything_is_closed(torch_adapter, tmp_path):
    with et.Recorder(tmp_path / "t.eventide") as recorder:
        run = TorchRun(("ops",), 0.0)
        for _ in range(5000):  # more than a chunk
            torch.empty(1)
        assert et.open_trace(tmp_path / "t.eventide").spans.num_rows == 5000
        run.close()
    assert recorder.trace.spans.num_rows == 5000
    assert recorder.trace.metadata["torch"]["held"] is False


def test_gradients_computed_at_once_on_many_threads_are_tied_to_the_operators_of_theirs(torch_adapter):
    def train() -> None:
        net = torch.nn.Linear(8, 8)
        for _ in range(200):
            net(torch.ones(2, 8)).sum().backward()

    with Traced() as traced:
        threads = [threading.Thread(target=train) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
    spans = traced.trace.spans.to_pylist()
    start_of = {(row["track"], row["start"]): row["name"] for row in reversed(spans)}
    tied = Counter(
        (edge["from_track"], edge["to_track"], start_of[edge["to_track"], edge["to_time"]])
        for edge in traced.trace.edges.to_pylist()
        if start_of.get((edge["from_track"], edge["from_time"])) == "aten::addmm"
    )
    assert len(tied) == 4
    assert all(of == to and name == "AddmmBackward0" for of, to, name in tied)  # a gradient runs on its thread
    assert set(tied.values()) == {200}


def test_gradients_of_another_thread_s_operators_are_tied_to_them(torch_adapter):
    lost: list[Any] = []
    with Traced() as traced:
        in_thread(lambda: lost.append(torch.nn.Linear(8, 8)(torch.ones(2, 8)).sum()))
        lost[0].backward()
    names = {(row["track"], row["start"]): row["name"] for row in traced.trace.spans.to_pylist()}
    (edge,) = [
        edge for edge in traced.trace.edges.to_pylist() if names[edge["to_track"], edge["to_time"]] == "AddmmBackward0"
    ]
    assert names[edge["from_track"], edge["from_time"]] == "aten::addmm"
    assert edge["from_track"] != edge["to_track"]


def test_an_operator_that_raises_has_a_span(torch_adapter):
    with Traced() as traced, pytest.raises(RuntimeError):
        torch.ones(2) @ torch.ones(3)
    assert "aten::matmul" in traced.names()


def test_a_torch_without_callbacks_is_traced_by_its_profiler(torch_adapter, monkeypatch):
    monkeypatch.setattr(operators._state, "callbacks", None)
    monkeypatch.delattr(torch._C._profiler, "RecordScope")
    with Traced() as traced:
        torch.ones(1)
    assert traced.names() == ["aten::ones", "aten::empty", "aten::fill_"]
    assert traced.account["profiled"] == "operators"


@pytest.mark.parametrize("version", ["2.12.1", "2.14.0", "2.1.0", "3.13.0", "2.13"])
def test_only_a_torch_that_was_tested_is_called_back_from(version: str) -> None:
    if version == "2.13":
        operators.check_version(version)
    else:
        with pytest.raises(et.DeviceError, match=rf"^callbacks of torch {version} were not tested, only those of"):
            operators.check_version(version)


def test_a_torch_that_does_not_call_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators._Callbacks, "start", lambda self: None)
    with pytest.raises(et.DeviceError, match="did not call back"):
        operators._Callbacks()


def test_operators_of_an_untested_torch_come_from_its_profiler_and_one_line_says_so(torch_adapter, monkeypatch):
    monkeypatch.setattr(operators, "TESTED", ("2.0",))
    monkeypatch.setattr(operators, "_state", operators._State())
    with Traced() as traced:
        torch.neg(torch.zeros(2))
    assert "aten::neg" in [row["name"] for row in traced.rows("op")]
    (line,) = traced.trace.metadata["warnings"]
    assert "torch's operators come from its profiler: DeviceError: callbacks of torch" in line
