"""What only torch's own profiler reports: shapes, FLOPs, memory, for a limited time."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT
from tests.integration import processes
from tests.integration.traced import Traced, in_thread

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch._run import TorchRun  # noqa: E402


def test_shapes_and_flops_come_with_the_operators_when_asked_for(torch_adapter):
    x = torch.ones(2, 8)
    with Traced(shapes=True, flops=True) as traced:
        x @ torch.ones(8, 4)
    (product,) = [row for row in traced.rows("op") if row["name"] == "aten::mm"]
    about = json.loads(product["args"])
    assert about["Input Dims"] == [[2, 8], [8, 4]]
    assert about["Input type"] == ["float", "float"]
    assert about["flops"] == 2 * 2 * 8 * 4


def test_after_the_limit_nothing_more_is_traced_and_the_trace_says_so(torch_adapter):
    with Traced(shapes=True, seconds=1e6) as traced:
        torch.ones(1)
        traced.session.on_time_limit()  # what the clock does
        torch.empty(7)
    assert traced.names() == ["aten::ones", "aten::empty", "aten::fill_"]
    (warning,) = traced.trace.metadata["warnings"]
    assert warning == (
        "torch's operators: recorded in part, 1e+06 s from its import, and 1e+06 s from the first step of an "
        "optimizer; --torch-seconds sets how long"
    )


@pytest.mark.parametrize("what", ["shapes", "memory"])
def test_the_limit_comes_by_itself(torch_adapter, what):
    with Traced(**{what: True}, seconds=1e-3) as traced:
        deadline = time.monotonic() + TIMEOUT
        while not traced.session.account.limit_s and time.monotonic() < deadline:
            torch.ones(1)
    assert "recorded in part, 0.001 s" in traced.trace.metadata["warnings"][0]


def test_the_first_step_of_an_optimizer_begins_the_time_anew(torch_adapter):
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with et.Recorder() as recorder:
        run = TorchRun(("ops", "shapes"), 1e6)
        torch.zeros(7)
        run._session.on_time_limit()  # what the clock does
        torch.ones(7)
        for _ in range(2):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
        run.close()
    names = Counter(row["name"] for row in recorder.trace.spans.to_pylist())
    assert (names["aten::zeros"], names["aten::ones"], names["aten::linear"]) == (1, 1, 1)  # of the second step
    assert (names["ProfilerStep#0"], names["ProfilerStep#1"]) == (1, 1)


def test_kineto_prints_nothing_for_our_sake_and_the_environment_is_as_it_was():
    ended = processes.run("torch_quiet").check(0)  # a process of its own: Kineto looks once at how much it may say
    assert (ended.out, ended.err) == ("['aten::ones', 'aten::empty', 'aten::fill_']\n", "")


def test_a_torch_without_these_functions_is_one_line(torch_adapter, monkeypatch, caplog):
    monkeypatch.delattr(torch._C._profiler, "_ExperimentalConfig")
    with et.Recorder() as recorder:
        run = TorchRun(("ops", "shapes"), 0.0)
        torch.ones(1)
        run.close()
    (line,) = recorder.trace.metadata["warnings"]
    assert line.startswith(f"torch {torch.__version__}: its operators are not traced: AttributeError")
    assert [record.message for record in caplog.records] == [line]


def test_a_kineto_that_cannot_start_is_one_line(torch_adapter, monkeypatch, caplog):
    def refuse(*_: Any) -> None:
        raise RuntimeError("no profiler\nin this build")

    monkeypatch.setattr(torch.autograd, "_enable_profiler", refuse)
    with Traced(shapes=True) as traced:
        torch.ones(1)
    assert traced.trace.metadata["warnings"] == [
        "torch's operators: not traced: RuntimeError: no profiler in this build"
    ]
    assert [record.message for record in caplog.records] == traced.trace.metadata["warnings"]


def test_memory_is_reported_beside_the_operators(torch_adapter):
    with Traced(memory=True) as traced:
        torch.ones(1000)
        in_thread(lambda: torch.ones(5))
    assert traced.names() == ["aten::ones", "aten::empty", "aten::fill_"] * 2
    reported = [json.loads(row["args"]) for row in traced.trace.instants.to_pylist() if row["name"] == "[memory]"]
    assert [(one["Bytes"], one["Device"]) for one in reported] == [(4000, "cpu:0"), (-4000, "cpu:0")]  # of this thread
    assert [row["value"] for row in traced.trace.counters.to_pylist()] == [4000, 0]


def test_a_recording_of_memory_is_ended_by_another_thread(torch_adapter):
    with Traced(memory=True) as traced:
        torch.ones(1000)
        done = threading.Event()

        def close() -> None:
            traced.session.close()
            done.set()

        threading.Thread(target=close).start()
        deadline = time.monotonic() + TIMEOUT
        while not done.is_set() and time.monotonic() < deadline:  # the main thread runs, and is queried
            time.sleep(1e-3)
    assert [row["value"] for row in traced.trace.counters.to_pylist()] == [4000, 0]
    assert traced.trace.metadata["warnings"] == []


def test_memory_with_shapes_comes_from_one_thread(torch_adapter):
    with Traced(memory=True, shapes=True) as traced:
        torch.ones(1000)
        in_thread(lambda: torch.zeros(5))
    assert set(traced.names()) == {"aten::ones", "aten::empty", "aten::fill_"}
    assert [row["value"] for row in traced.trace.counters.to_pylist()] == [4000, 0]


def test_after_the_limit_no_more_memory_is_traced_and_operators_are(torch_adapter):
    with Traced(memory=True, seconds=1e6) as traced:
        torch.ones(1000)
        traced.session.on_time_limit()  # what the clock does
        torch.empty(7)
    assert traced.names() == ["aten::ones", "aten::empty", "aten::fill_", "aten::empty"]
    assert [row["value"] for row in traced.trace.counters.to_pylist()] == [4000, 0]
    (warning,) = traced.trace.metadata["warnings"]
    assert warning.startswith("torch's memory: recorded in part, 1e+06 s")
