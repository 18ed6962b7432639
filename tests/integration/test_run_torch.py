"""`eventide run` on programs that use torch: they run unchanged, and what torch did is in the trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from tests.integration import perfetto

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
pytest.importorskip("torch", reason="torch is not installed")
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 400


def python(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=cwd, timeout=TIMEOUT, check=False
    )


def recorded(program: str, *arguments: str, cwd: Path, options: tuple[str, ...] = ()) -> Any:
    launcher = ("-m", "eventide", "run", "-o", "t.eventide", "--sample", "0", *options)
    return python(*launcher, str(PROGRAMS / program), *arguments, cwd=cwd)


def rows(trace: et.Trace, category: str) -> list[dict[str, Any]]:
    return [row for row in trace.spans.sort_by("start").to_pylist() if row["category"] == category]


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """A training with torch.compile, alone."""
    return python(str(PROGRAMS / "train.py"), cwd=tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module", params=["", "shapes", "memory"])
def training(request, plain, tmp_path_factory) -> tuple[Path, Any, et.Trace]:
    """The same, recorded: it agrees with itself without us."""
    folder = tmp_path_factory.mktemp("training")
    # Without a limit of time: on a busy machine the training would take longer than the usual one.
    options = ("--torch", request.param, "--torch-seconds", "0") if request.param else ()
    watched = recorded("train.py", cwd=folder, options=options)
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 0, plain.stderr
    lines = watched.stderr.splitlines()
    ours = next(number for number, line in enumerate(lines) if " processes " in line or line.startswith("eventide: "))
    assert lines[:ours] == plain.stderr.splitlines()
    return folder, watched, et.open_trace(folder / "t.eventide")


def test_a_training_with_torch_compile_shows_operators_forward_and_backward(training):
    _, _, trace = training
    trace.check()
    names = Counter(row["name"] for row in rows(trace, "op"))
    assert names["CompiledFunction"] == names["CompiledFunctionBackward"] == 6  # the graph, and its gradient
    assert names["aten::addmm"] > 0
    assert any(edge["kind"] == "fwdbwd" for edge in trace.edges.to_pylist())
    assert names["aten::cross_entropy_loss"] == 6
    assert not any(trace.metadata["account"]["dropped"].values())


@pytest.mark.parametrize("training", ["shapes"], indirect=True)
def test_its_operators_have_shapes_where_these_are_asked_for(training):
    _, _, trace = training
    dims = [
        json.loads(row["args"])["Input Dims"] for row in rows(trace, "op") if row["name"] == "aten::cross_entropy_loss"
    ]
    assert [one[:2] for one in dims] == [[[96, 50], [96]]] * 6


@pytest.mark.parametrize("training", ["memory"], indirect=True)
def test_its_memory_comes_back_to_where_it_was(training):
    _, _, trace = training
    names = trace.tracks.column("name").to_pylist()
    level = [
        row["value"] for row in trace.counters.sort_by("time").to_pylist() if names[row["track"]] == "memory cpu:0"
    ]
    assert max(level) > 100_000
    assert level[-1] < max(level)


def test_its_compiles_and_steps_are_spans(training):
    _, _, trace = training
    compiles = {(row["name"], json.loads(row["args"])["trigger"]) for row in rows(trace, "compile")}
    assert ("forward", "DYNAMO") in compiles  # the backward's too, unless it came from torch's cache
    assert [row["name"] for row in rows(trace, "step")] == [f"ProfilerStep#{number}" for number in range(6)]
    assert [row["name"] for row in rows(trace, "annotation")].count("Optimizer.step#AdamW.step") == 6


def test_the_summary_reports_the_operators_and_what_it_cost_to_get_them(training):
    _, watched, trace = training
    reported = trace.metadata["torch"]
    assert reported["operators"] > 500
    summary = " ".join(watched.stderr.split())
    assert f"torch's operators: {reported['operators']:,}" in summary
    assert ("to read the buffer of its profiler" in summary) == bool(reported["profiled"])


def test_perfetto_sees_every_slice_and_loses_nothing(training):
    folder, _, trace = training
    trace.save(folder / "t.pftrace")
    with perfetto.trace_processor(folder / "t.pftrace") as processor:
        assert perfetto.lost(processor) == []
        assert len(perfetto.slices(processor)) == len(perfetto.expected_slices(trace))


@pytest.mark.parametrize("how", ["_exit", "SIGKILL"])
def test_a_program_that_is_cut_off_has_its_operators_in_the_trace(tmp_path, how):
    done = recorded("torch_ends.py", how, cwd=tmp_path)
    assert done.returncode == {"_exit": 3, "SIGKILL": -9}[how]
    trace = et.open_trace(tmp_path / "t.eventide")
    assert Counter(row["name"] for row in rows(trace, "op"))["aten::linear"] == 6
    assert not any(warning.startswith("torch") for warning in trace.metadata["warnings"])


def test_os_exit_loses_nothing_that_torch_s_profiler_held(tmp_path):
    done = recorded("torch_ends.py", "_exit", cwd=tmp_path, options=("--torch", "shapes"))
    assert done.returncode == 3
    trace = et.open_trace(tmp_path / "t.eventide")
    assert Counter(row["name"] for row in rows(trace, "op"))["aten::linear"] == 6
    assert trace.metadata["warnings"] == []


def test_a_kill_loses_what_torch_s_profiler_held_and_the_trace_says_so(tmp_path):
    done = recorded("torch_ends.py", "SIGKILL", cwd=tmp_path, options=("--torch", "shapes"))
    assert done.returncode == -9
    lost = "torch's operators: still in its profiler when the program ended, and lost"
    assert lost in et.open_trace(tmp_path / "t.eventide").metadata["warnings"]
    assert lost in " ".join(done.stderr.split())


def test_torch_can_be_left_alone(tmp_path):
    done = recorded("torch_ends.py", cwd=tmp_path, options=("--torch", "none"))
    assert (done.returncode, done.stdout) == (0, "done\n")
    trace = et.open_trace(tmp_path / "t.eventide")
    assert rows(trace, "op") == []
    assert "torch" not in trace.metadata


def test_a_schedule_has_the_operators_of_its_steps_in_each_file(tmp_path):
    done = recorded("torch_ends.py", cwd=tmp_path, options=("--schedule", "1,0,2,2", "--quiet"))
    assert done.returncode == 0, done.stderr
    found = []
    for name in ("t.eventide", "t-2.eventide"):
        trace = et.open_trace(tmp_path / name)
        names = Counter(row["name"] for row in rows(trace, "op"))
        found.append(([row["name"] for row in rows(trace, "step")], names["aten::linear"]))
    assert found == [(["ProfilerStep#1", "ProfilerStep#2"], 2), (["ProfilerStep#4", "ProfilerStep#5"], 2)]


def test_a_word_that_torch_does_not_know_is_refused_before_the_program_runs(tmp_path):
    done = recorded("torch_ends.py", cwd=tmp_path, options=("--torch", "ops,moods"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--torch moods is unknown; use some of ops, shapes, flops, memory, modules, accesses, or none" in done.stderr


def test_memory_is_in_the_trace_where_it_is_asked_for(tmp_path):
    done = recorded("torch_ends.py", cwd=tmp_path, options=("--torch", "memory"))
    assert (done.returncode, done.stdout) == (0, "done\n")
    trace = et.open_trace(tmp_path / "t.eventide")
    trace.check()
    assert Counter(row["name"] for row in rows(trace, "op"))["aten::linear"] == 6
    reported = [json.loads(row["args"])["Bytes"] for row in trace.instants.to_pylist() if row["name"] == "[memory]"]
    assert reported.count(64) >= 1  # the weight, 4 x 4 floats
    assert sum(size < 0 for size in reported) >= 6  # each step gives back what it took
    assert "memory that frameworks allocated on cpu:0: " in " ".join(done.stderr.split())
    assert not any(line.startswith("[W") for line in done.stderr.splitlines())  # torch's own
