"""Real runs of torch.compile, traced through the adapter."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.integration.processes import run

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(400)]
pytest.importorskip("torch", reason="torch is not installed")


@cache
def story(backend: str, when: str, folder: Path | None = None) -> dict[str, Any]:
    # One compiler process at a time: torch would leave a pool of them behind.
    variables = {"TORCHINDUCTOR_COMPILE_THREADS": "1"} | ({"TORCHINDUCTOR_CACHE_DIR": str(folder)} if folder else {})
    ended = run("torch_compile", backend, when, limit=360.0, **variables).check(0)
    reported: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return reported


@pytest.fixture(params=["before", "after"])
def reported(request) -> dict[str, Any]:
    return story("aot_eager", request.param)


def test_a_forward_compile_is_traced_with_its_name_and_stages(reported) -> None:
    start, end, record = reported["forward"]
    assert start[:2] == ["start", "DYNAMO"]
    assert end == ["end", *start[1:]]
    assert (record["trigger"], record["id"], record["name"]) == ("DYNAMO", start[2], "parabola")
    assert (record["ok"], record["recompile"], record["depth"], record["own_thread"]) == (True, False, 0, True)
    assert set(record["stages"]) >= {"dynamo", "aot_autograd"}
    assert 0 < record["stages"]["aot_autograd"] <= record["stages"]["dynamo"]
    assert record["duration"] > 0
    assert Path(record["details"]["file"]).name == "torch_compile.py"


def test_a_backward_compile_is_traced_under_the_name_of_its_forward(reported) -> None:
    start, end, record = reported["backward"]
    assert (start[:2], end[:2]) == (["start", "LAZY_BACKWARD"], ["end", "LAZY_BACKWARD"])
    assert (record["trigger"], record["name"], record["ok"]) == ("LAZY_BACKWARD", "parabola", True)
    assert "backward" in record["stages"]


def test_a_cached_call_is_no_compile(reported) -> None:
    assert reported["cached"] == []


def test_a_recompile_has_its_reason(reported) -> None:
    *_, record = reported["recompile"]
    assert record["recompile"] is True
    assert "requires_grad mismatch" in record["reason"]


def test_a_graph_break_is_counted_with_its_reason(reported) -> None:
    records = [one for one in reported["graph break"] if isinstance(one, dict)]
    assert [record["graph_breaks"] for record in records] == [1, 0]
    assert "graph_break" in records[0]["details"]["graph_break_reasons"][0]
    assert records[1]["name"].startswith("torch_dynamo_resume_in_broken")


def test_a_failing_backend_is_an_error_in_the_record_and_for_the_program(reported) -> None:
    start, end, record = reported["failing backend"]
    assert (start[0], end[0], record["ok"]) == ("start", "end", False)
    assert reported["raised"] in record["error"]
    assert "no backend today" in record["error"]


def test_a_callback_that_compiles_does_not_hang_torch(reported) -> None:
    starts = [one for one in reported["a callback that compiles"] if isinstance(one, list) and one[0] == "start"]
    records = [one for one in reported["a callback that compiles"] if isinstance(one, dict)]
    assert len(starts) == 1
    assert [record["depth"] for record in records] == [1, 0]


def test_a_callback_that_raises_disturbs_neither_torch_nor_the_others(reported) -> None:
    assert reported["result"] == 16.0
    assert [one[0] for one in reported["a callback that raises"] if isinstance(one, list)] == ["start", "end"]
    assert reported["statistics"]["errors"] == 1


def test_callbacks_survive_reset_and_end_with_uninstall(reported) -> None:
    assert reported["forward"]  # after torch._dynamo.reset()
    assert reported["uninstalled"] == []
    assert reported["torch is as it was"] is True
    assert reported["statistics"]["running"] == 0


def test_inductor_is_traced_and_its_cache_too(tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("inductor")
    cold, warm = (story.__wrapped__("inductor", "before", folder) for _ in range(2))
    for reported in (cold, warm):
        assert [one["trigger"] for one in reported["forward"] if isinstance(one, dict)] == ["DYNAMO"]
        assert reported["cached"] == []
        assert reported["recompile"][-1]["recompile"] is True
        assert reported["torch is as it was"] is True
    assert "inductor" in cold["forward"][-1]["stages"]
    assert cold["forward"][-1]["cache_hit"] is False
    assert warm["forward"][-1]["cache_hit"] is True
