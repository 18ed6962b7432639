"""Traces that other tools write here and now: torch.profiler and VizTracer, each in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import eventide as et
from tests.kineto_files import rows

TORCH = """
import sys, torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
options = dict(record_shapes=True, profile_memory=True, with_stack=True, with_modules=True)
plan = schedule(wait=0, warmup=0, active=3, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, **options) as prof:
    for step in range(3):
        with record_function("## forward ##"):
            loss = model(torch.ones(4, 8)).sum()
        loss.backward()
        prof.step()
prof.export_chrome_trace(sys.argv[1])
"""
VIZTRACER = """
import sys
from viztracer import VizTracer
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
tracer = VizTracer(output_file=sys.argv[1], verbose=0)
tracer.start()
fibonacci(6)
tracer.log_var("depth", 6)
tracer.stop()
tracer.save()
"""


def _record(package: str, code: str, path) -> et.Trace:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, timeout=110)
    return et.open_trace(path)


@pytest.mark.heavy
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_trace_of_torch_profiler_has_steps_operators_modules_and_memory(tmp_path, suffix):
    trace = _record("torch", TORCH, tmp_path / f"trace.{suffix}")
    spans = rows(trace, "spans")
    categories = {row["category"] for row in spans}
    assert {"op", "step", "annotation", "module", "sample"} <= categories
    assert sorted(row["work"] for row in spans if row["category"] == "step") == [0, 1, 2]
    assert any(row["name"] == "aten::addmm" and '"Input Dims"' in row["args"] for row in spans)
    assert "fwdbwd" in rows(trace, "edges", "kind")
    assert {"allocated bytes"} <= set(rows(trace, "counters", "name"))
    assert trace.metadata["warnings"] == [] and trace.metadata["clock"]["name"] == "unix"
    trace.check()


@pytest.mark.heavy
def test_a_trace_of_viztracer_nests_as_the_program_did(tmp_path):
    trace = _record("viztracer", VIZTRACER, tmp_path / "trace.json")
    calls = [row for row in rows(trace, "spans") if row["name"].startswith("fibonacci")]
    assert len(calls) == 25
    outer = max(calls, key=lambda row: row["duration"])
    end = outer["start"] + outer["duration"]
    assert all(outer["start"] <= row["start"] and row["start"] + row["duration"] <= end for row in calls)
    assert {row["category"] for row in calls} == {"sample"}
    assert trace.metadata["warnings"] == []
    trace.check()
