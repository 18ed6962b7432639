"""Launches of Triton: real ones in its interpreter, and its launch hooks driven as its launchers drive them.

No driver is here, so no launcher runs: what it would call is called, with the metadata that CompiledKernel makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import eventide as et

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
LIMIT = 200  # seconds

INTERPRETED = """
import time
import torch, triton
import triton.language as tl
@triton.jit
def add(x, y, n: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, n)
    tl.store(y + at, tl.load(x + at) + 1.0)
x, y = torch.arange(256.0), torch.empty(256)
asked = []
def grid(meta):
    asked.append(meta)
    return (2, 2)
began = time.monotonic_ns()
add[(4,)](x, y, 64)
assert torch.equal(y, x + 1)
add[grid](x, y, 64)
assert len(asked) == 1
try:
    add[(1,)](x, y, "no number")
except Exception as error:
    print(type(error).__name__)
print(began, time.monotonic_ns())
"""
HOOKS = """
import sys, eventide as et
from triton import knobs
from triton.compiler import LazyDict
from eventide.integrations import triton as adapter

enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
traced = []
enter.add(lambda metadata: traced.append("enter"))
leave.add(lambda metadata: traced.append("leave"))
before = (list(enter.calls), list(leave.calls))

def metadata(name, stream=7):
    made = LazyDict({"name": name, "function": 12345, "stream": stream})
    made.add(lambda grid: (traced.append("asked"), {"flops": grid})[1], (64,))
    return made

def launch(made, fails=False):
    enter(made)
    if not fails:
        leave(made)

adapter.install()
adapter.install()
launch(metadata("not recorded"))
with et.Recorder(sys.argv[1]):
    with et.span("outer"):
        launch(metadata("first"))
        launch(metadata("fails"), fails=True)
        launch(metadata("second"))
        asked = metadata("asked by another")
        asked.get()
        launch(asked)
        leave(metadata("never entered"))
        launch(object())  # of another version: never into the program
    adapter.uninstall()
    assert (enter.calls, leave.calls) == before
    launch(metadata("uninstalled"))
print(traced.count("enter"), traced.count("leave"), traced.count("asked"))
"""


@pytest.fixture(scope="module", autouse=True)
def needs_triton() -> None:
    for name in ("triton", "torch"):
        pytest.importorskip(name, reason=f"{name} is not installed")


def ran(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def spans(path: Path, category: str) -> list[dict[str, Any]]:
    trace = et.open_trace(path)
    trace.check()
    kept = [row for row in trace.spans.to_pylist() if row["category"] == category]
    return [{**row, "args": json.loads(row["args"] or "{}")} for row in kept]


def test_each_launch_of_the_interpreter_is_a_span_with_its_grid(tmp_path):
    program, path = tmp_path / "program.py", tmp_path / "t.eventide"
    program.write_text(INTERPRETED, "utf-8")
    done = ran("-m", "eventide", "run", "-q", "--sample", "0", "-o", path, program, TRITON_INTERPRET="1")
    assert "Eventide cannot trace" not in done.stderr
    name, marks = done.stdout.splitlines()
    assert name == "InterpreterError"
    began, ended = map(int, marks.split())
    found = [row for row in spans(path, "op") if row["args"].get("framework") == "triton"]  # torch's own are there too
    assert [(row["name"], row["args"]["grid"]) for row in found] == [
        ("add", [4, 1, 1]),
        ("add", [2, 2, 1]),
        ("add", [1, 1, 1]),
    ]
    for row in found:
        assert began <= row["start"] <= row["start"] + row["duration"] <= ended


def test_each_pair_of_launch_hooks_is_a_span_of_the_thread(tmp_path):
    done = ran("-c", HOOKS, tmp_path / "t.eventide")
    assert done.stdout.split() == ["7", "7", "1"]  # of the test's own hooks; no other hook requested lazy metadata
    (outer,) = spans(tmp_path / "t.eventide", "span")
    found = spans(tmp_path / "t.eventide", "runtime")
    plain = {"framework": "triton", "stream": 7}
    assert [(row["name"], row["args"]) for row in found] == [
        ("first", plain),
        ("second", plain),
        ("asked by another", {**plain, "flops": 64}),
    ]
    assert {row["track"] for row in found} == {outer["track"]}
    assert done.stderr.count("the program continues") == 1
