"""`eventide run` traces torch's modules, and the program, its compiler and its tools are not affected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import eventide as et

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
pytest.importorskip("torch", reason="torch is not installed")
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 400


def both(folder: Path, program: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[str, et.Trace]:
    """The program alone and under `eventide run`: the same in every letter. What it printed, and the trace."""
    command = [str(PROGRAMS / program), *arguments]
    run = ["-m", "eventide", "run", "--quiet", "-o", "t.eventide", *options]
    plain, watched = (
        subprocess.run(
            [sys.executable, *before, *command],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=TIMEOUT,
            check=False,
        )
        for before in ([], run)
    )
    assert plain.returncode == 0, plain.stderr
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, plain.stderr)
    trace = et.open_trace(folder / "t.eventide")
    trace.check()
    assert trace.metadata["warnings"] == []
    return plain.stdout, trace


def modules(trace: et.Trace) -> list[dict[str, Any]]:
    tracks = trace.tracks.to_pylist()
    rows = [row for row in trace.spans.sort_by("start").to_pylist() if row["category"] == "module"]
    return [{**row, "thread": tracks[row["track"]]["name"], "about": json.loads(row["args"])} for row in rows]


def inside_out(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each span with the one around it on its thread; empty: none."""
    found = []
    for row in rows:
        around = [
            one
            for one in rows
            if one is not row
            and one["track"] == row["track"]
            and one["start"] <= row["start"]
            and row["start"] + row["duration"] <= one["start"] + one["duration"]
        ]
        found.append((row["name"], min(around, key=lambda one: one["duration"])["name"] if around else ""))
    return found


@pytest.fixture(scope="module")
def eager(tmp_path_factory) -> dict[str, list[dict[str, Any]]]:
    """The spans of each thread of a program that calls modules as they are."""
    printed, trace = both(tmp_path_factory.mktemp("eager"), "modules_eager.py")
    assert "Module._wrapped_call_impl True" in printed  # a forked child has torch's own function
    assert {row["category"] for row in trace.spans.to_pylist()} >= {"module", "op", "step"}
    by_thread: dict[str, list[dict[str, Any]]] = {}
    for row in modules(trace):
        by_thread.setdefault(row["thread"], []).append(row)
    return by_thread


def test_each_forward_of_a_training_is_a_span_inside_of_its_parent_s(eager):
    block = [("norm", "LayerNorm"), ("layers", "Sequential"), ("layers.0", "Linear"), ("layers.1", "ReLU")]
    net = [("Net", "Net")]
    for number in range(2):
        net += [(f"Net.blocks.{number}", "Block")]
        net += [(f"Net.blocks.{number}.{name}", kind) for name, kind in block]
    net += [("Net.head", "Linear")]
    assert [(row["name"], row["about"]["type"]) for row in eager["train"]] == net * 3
    layers = ["Net.blocks.0.layers.0", "Net.blocks.0.layers.1"]
    around = dict(inside_out(eager["train"][: len(net)]))
    assert around["Net"] == ""
    assert around["Net.blocks.0"] == around["Net.head"] == "Net"
    assert [around[name] for name in layers] == ["Net.blocks.0.layers"] * 2


def test_an_exception_ends_the_spans_that_it_passes_through(eager):
    assert inside_out(eager["fail"]) == [
        ("Failing", ""),
        ("Failing.inner", "Failing"),
        ("Failing.inner", "Failing"),
        ("Identity", ""),
    ]


def test_a_module_that_was_replaced_or_moved_has_the_name_of_its_place(eager):
    assert [(row["name"], row["about"]["type"]) for row in eager["change"]] == [
        ("Sequential", "Sequential"),
        ("Sequential.0", "Linear"),
        ("Sequential.1", "Tanh"),
        ("Sequential", "Sequential"),
        ("Sequential.0", "Tanh"),
        ("Sequential.1", "Sigmoid"),
    ]


def test_recursion_is_a_span_each_and_a_shared_module_has_one_name(eager):
    main = [row["name"] for row in eager["MainThread"]]
    assert main == ["Countdown"] * 3 + ["Countdown.first"] * 3 + ["Waits"]
    first, second, third = eager["MainThread"][:3]
    assert first["duration"] > second["duration"] > third["duration"]


def test_threads_do_not_name_each_other_s_modules(eager):
    assert inside_out(eager["in the middle"]) == [("Identity", "")]
    assert inside_out(eager["right"]) == [("Sequential", ""), ("Sequential.0", "Sequential")]
    assert [row["name"] for row in eager["left"]] == [
        "Sequential",
        "Sequential.0",
        "Sequential.0.norm",
        "Sequential.0.layers",
        "Sequential.0.layers.0",
        "Sequential.0.layers.1",
        "Sequential.1",
    ]
    left, right = eager["left"][0], eager["right"][0]
    assert left["start"] < right["start"] + right["duration"]
    assert right["start"] < left["start"] + left["duration"]


def test_hooks_of_the_program_and_calls_of_its_own_work_beside_ours(eager):
    assert [row["name"] for row in eager["hook"]] == ["Sequential", "Sequential.0", "Called"]


def test_a_forked_child_records_nothing(eager):
    assert "fork" not in eager


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_torch_compile_makes_the_same_of_a_module_and_its_call_is_one_span(tmp_path, backend):
    printed, trace = both(tmp_path, "modules_compile.py", backend, options=("--torch", "modules"))
    assert printed.count(" 0\n") == 7  # no graph break but the requested one
    categories = {row["category"] for row in trace.spans.to_pylist()}
    assert categories - {"process"} == {
        "module",
        "compile",
    }  # inductor starts the C++ compiler and processes of its own
    rows = modules(trace)
    expected = [("Net", "Net", True)] * 3
    expected += [("Outer", "Outer", False), ("Outer.inner", "Net", True), ("Linear", "Linear", True)]
    expected += [(f"Kind{number}", f"Kind{number}", True) for number in range(12)]
    expected += [("Hooked", "Hooked", True), ("Net", "Net", True), ("Broken", "Broken", True)]
    expected += [("Broken.left_to_python", "Tanh", False)]
    assert [(row["name"], row["about"]["type"], row["about"].get("compiled", False)) for row in rows] == expected


def test_tracing_exporting_scripting_copying_and_storing_are_as_without_us(tmp_path):
    printed, trace = both(tmp_path, "modules_tools.py")
    assert str([True] * 9) in printed  # each copy computes what the module does
    assert modules(trace)[0]["name"] == "Net"


def test_operators_without_modules(tmp_path):
    _, trace = both(tmp_path, "torch_ends.py", options=("--torch", "ops"))
    assert modules(trace) == []
    assert "op" in {row["category"] for row in trace.spans.to_pylist()}
