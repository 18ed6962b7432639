"""What only torch's own profiler tells: shapes, FLOPs, memory, for a limited time."""

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
from tests.integration.heard import Heard, in_thread

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from eventide.integrations.torch._run import TorchRun  # noqa: E402


def test_shapes_and_flops_come_with_the_operators_when_asked_for(torch_adapter):
    x = torch.ones(2, 8)
    with Heard(shapes=True, flops=True) as heard:
        x @ torch.ones(8, 4)
    (product,) = [row for row in heard.rows("op") if row["name"] == "aten::mm"]
    about = json.loads(product["args"])
    assert about["shapes"] == [[2, 8], [8, 4]]
    assert about["types"] == ["float", "float"]
    assert about["flops"] == 2 * 2 * 8 * 4


def test_after_the_limit_nothing_more_is_heard_and_the_trace_says_so(torch_adapter):
    with Heard(shapes=True, seconds=1e6) as heard:
        torch.ones(1)
        heard.session.enough()  # what the clock does
        torch.empty(7)
    assert heard.names() == ["aten::ones", "aten::empty", "aten::fill_"]
    (warning,) = heard.trace.metadata["warnings"]
    assert warning == (
        "torch's operators: heard for a time only, 1e+06 s from its import, and 1e+06 s from the first step of an "
        "optimizer; --torch-seconds sets how long"
    )


@pytest.mark.parametrize("what", ["shapes", "memory"])
def test_the_limit_comes_by_itself(torch_adapter, what):
    with Heard(**{what: True}, seconds=1e-3) as heard:
        deadline = time.monotonic() + TIMEOUT
        while not heard.session.account.limit_s and time.monotonic() < deadline:
            torch.ones(1)
    assert "heard for a time only, 0.001 s" in heard.trace.metadata["warnings"][0]


def test_the_first_step_of_an_optimizer_begins_the_time_anew(torch_adapter):
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with et.Recorder() as recorder:
        run = TorchRun(("ops", "shapes"), 1e6)
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
    assert line.startswith(f"torch {torch.__version__}: its operators are not heard: AttributeError")
    assert [record.message for record in caplog.records] == [line]


def test_a_kineto_that_cannot_start_is_one_line(torch_adapter, monkeypatch, caplog):
    def refuse(*_: Any) -> None:
        raise RuntimeError("no profiler\nin this build")

    monkeypatch.setattr(torch.autograd, "_enable_profiler", refuse)
    with Heard(shapes=True) as heard:
        torch.ones(1)
    assert heard.trace.metadata["warnings"] == ["torch's operators: not heard: RuntimeError: no profiler in this build"]
    assert [record.message for record in caplog.records] == heard.trace.metadata["warnings"]


def test_memory_is_told_beside_the_operators(torch_adapter):
    with Heard(memory=True) as heard:
        torch.ones(1000)
        in_thread(lambda: torch.ones(5))
    assert heard.names() == ["aten::ones", "aten::empty", "aten::fill_"] * 2
    told = [json.loads(row["args"]) for row in heard.trace.instants.to_pylist() if row["name"] == "[memory]"]
    assert [(one["Bytes"], one["Device"]) for one in told] == [(4000, "cpu:0"), (-4000, "cpu:0")]  # of this thread
    assert [row["value"] for row in heard.trace.counters.to_pylist()] == [4000, 0]


def test_a_recording_of_memory_is_ended_by_another_thread(torch_adapter):
    with Heard(memory=True) as heard:
        torch.ones(1000)
        done = threading.Event()

        def close() -> None:
            heard.session.close()
            done.set()

        threading.Thread(target=close).start()
        deadline = time.monotonic() + TIMEOUT
        while not done.is_set() and time.monotonic() < deadline:  # the main thread runs, and is asked
            time.sleep(1e-3)
    assert [row["value"] for row in heard.trace.counters.to_pylist()] == [4000, 0]
    assert heard.trace.metadata["warnings"] == []


def test_memory_with_shapes_comes_from_one_thread(torch_adapter):
    with Heard(memory=True, shapes=True) as heard:
        torch.ones(1000)
        in_thread(lambda: torch.zeros(5))
    assert set(heard.names()) == {"aten::ones", "aten::empty", "aten::fill_"}
    assert [row["value"] for row in heard.trace.counters.to_pylist()] == [4000, 0]


def test_after_the_limit_no_more_memory_is_heard_and_operators_are(torch_adapter):
    with Heard(memory=True, seconds=1e6) as heard:
        torch.ones(1000)
        heard.session.enough()  # what the clock does
        torch.empty(7)
    assert heard.names() == ["aten::ones", "aten::empty", "aten::fill_", "aten::empty"]
    assert [row["value"] for row in heard.trace.counters.to_pylist()] == [4000, 0]
    (warning,) = heard.trace.metadata["warnings"]
    assert warning.startswith("torch's memory: heard for a time only, 1e+06 s")
