"""Real compiles of JAX, Numba and Triton, traced through their integrations. Triton compiles for a GPU without one."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.integration.processes import run

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(400)]
FRAMEWORKS = ("jax", "numba", "triton")
Story = dict[str, Any]


@cache
def story_of(framework: str, folder: str) -> Story:
    ended = run("compile_traced", framework, folder, limit=360.0).check(0)
    reported: Story = json.loads(ended.out.splitlines()[-1])
    return reported


@pytest.fixture
def story(request, tmp_path_factory) -> Story:
    pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    folder = tmp_path_factory.getbasetemp() / f"compile_traced_{request.param}"
    folder.mkdir(exist_ok=True)
    return story_of(request.param, str(folder))


def of(*frameworks: str) -> Any:
    return pytest.mark.parametrize("story", frameworks, indirect=True)


def records(part: list[Any]) -> list[dict[str, Any]]:
    return [thing for thing in part if isinstance(thing, dict)]


@of(*FRAMEWORKS)
def test_starts_and_ends_alternate_with_the_same_arguments_and_all_end(story):
    for part in ("first", "from disk"):
        reported = [thing for thing in story[part] if isinstance(thing, list)]
        assert [what for what, *_ in reported] == ["start", "end"] * (len(reported) // 2)
        assert [rest for _, *rest in reported[::2]] == [rest for _, *rest in reported[1::2]]
    assert (story["status"], story["running"]) == ("installed", 0)


@of(*FRAMEWORKS)
def test_a_first_compile_succeeds_on_the_thread_that_compiled_and_takes_time(story):
    found = records(story["first"])
    assert found
    assert all(one["ok"] and one["own_thread"] and one["duration"] > 0 for one in found)


@of(*FRAMEWORKS)
def test_what_the_disk_cache_had_is_reported_as_a_hit(story):
    assert records(story["from disk"])[-1]["cache_hit"] is True
    assert records(story["first"])[-1]["cache_hit"] is False


@of("jax", "numba")
def test_a_call_that_compiles_nothing_reports_nothing(story):
    assert story["cached"] == []


@of("jax", "numba")
def test_a_compile_that_fails_says_why_and_the_error_is_the_programs(story):
    *_, failed = records(story["broken"])
    assert failed["ok"] is False
    assert failed["error"].startswith(("ValueError: cannot be traced", "TypingError"))
    assert story["broken"][-1][0] == "raised"


@of(*FRAMEWORKS)
def test_uninstalled_it_traces_nothing(story):
    assert story["uninstalled"] == []


@of("jax")
def test_jax_reports_three_phases_under_the_name_of_the_function(story):
    assert [(one["phase"], one["name"]) for one in records(story["first"])] == [
        ("trace", "outer"),
        ("lower", "outer"),
        ("backend compile", "outer"),
    ]


@of("jax")
def test_an_error_that_the_program_handles_is_not_the_compiles(story):
    assert [one["ok"] for one in records(story["in a handler"])] == [True, True, True]


@of("numba")
def test_numba_nests_and_reports_the_inner_function_too(story):
    inner, outer = records(story["first"])
    assert (inner["name"].rpartition(".")[2], inner["depth"]) == ("inner", 1)
    assert (outer["name"].rpartition(".")[2], outer["depth"]) == ("outer", 0)
    assert inner["duration"] < outer["duration"]


@of("numba")
def test_no_callback_runs_under_numbas_lock(story):
    assert story["locks"]
    assert not any(story["locks"])


@of("triton")
def test_triton_reports_its_stages(story):
    (record,) = records(story["first"])
    assert record["name"] == "add"
    assert {"ttir", "ptx"} <= set(record["stages"])


@of("triton")
def test_the_previous_listener_of_triton_is_still_called(story):
    assert len(records(story["chained"])) == 1
    assert story["others"] == [True, True]
