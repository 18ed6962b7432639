"""One process with torch, JAX, Numba, Triton and pyopencl, run unchanged: one trace, one clock, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from tests.integration import perfetto

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
FRAMEWORKS = ("torch", "jax", "numba", "triton", "pyopencl")
LIMIT = 600  # seconds

PROGRAM = """
import time
import numpy as np
import pyopencl as cl
import torch, jax, numba, triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

began = time.monotonic_ns()
context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
queue = cl.CommandQueue(context)
source = "__kernel void fill(__global float *a, float v) { a[get_global_id(0)] = v; }"
fill = cl.Program(context, source).build().fill
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
out = np.empty(1024, np.float32)
for value in range(10):
    fill(queue, (1024,), None, buffer, np.float32(value))
cl.enqueue_copy(queue, out, buffer)
assert out[0] == 9

@torch.compile(backend="eager")
def double_torch(x):
    return x * 2
assert double_torch(torch.ones(4)).sum() == 8

@jax.jit
def double_jax(x):
    return x * 2
assert double_jax(jax.numpy.ones(4)).sum() == 8

@numba.njit
def double_numba(x):
    return x * 2
assert double_numba(4) == 8

@triton.jit
def double_triton(x, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + at, tl.load(x + at) * 2.0)
kernel = ASTSource(double_triton, {"x": "*fp32", "y": "*fp32", "n": "constexpr"}, {(2,): 64})
triton.compile(kernel, target=GPUTarget("cuda", 80, 32))
print(began, time.monotonic_ns())
"""


@cache
def recorded(folder: str) -> tuple[int, int]:
    Path(folder, "five.py").write_text(PROGRAM)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TRITON_CACHE_DIR": str(Path(folder, "triton"))}
    command = [sys.executable, "-m", "eventide", "run", "-q", "--sample", "0", "-o", "five.eventide", "five.py"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Eventide cannot trace" not in done.stderr
    assert "the program continues" not in done.stderr, done.stderr
    began, ended = map(int, done.stdout.split())
    return began, ended


@pytest.fixture
def five(tmp_path_factory, opencl) -> tuple[et.Trace, int, int, Path]:
    for name in FRAMEWORKS:
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path_factory.getbasetemp() / "five"
    folder.mkdir(exist_ok=True)
    began, ended = recorded(str(folder))
    return et.open_trace(folder / "five.eventide"), began, ended, folder


def spans(trace: et.Trace, category: str) -> list[dict[str, Any]]:
    return [span for span in trace.spans.to_pylist() if span["category"] == category]


def test_each_framework_has_its_compiles(five):
    trace, _, _, _ = five
    found: dict[str, set[str]] = {}
    for span in spans(trace, "compile"):
        found.setdefault(json.loads(span["args"])["trigger"], set()).add(span["name"])
    assert "double_torch" in found["DYNAMO"]
    assert any("double_jax" in name for name in found["JAX"])
    assert any("double_numba" in name for name in found["NUMBA"])
    assert found["TRITON"] == {"double_triton"}
    assert found["OPENCL"] == {"fill"}


def test_the_work_of_the_queue_is_on_its_own_track_and_on_the_same_clock(five):
    trace, began, ended, _ = five
    work = spans(trace, "work") + spans(trace, "copy")
    assert [span["name"] for span in work] == ["fill"] * 10 + ["read buffer"]
    (track,) = {span["track"] for span in work}
    assert trace.tracks.to_pylist()[track]["name"].startswith("queue 1 on ")
    error = 5_000_000  # ns: of a clock that is measured, on a machine that may be busy
    for span in work:
        assert began - error <= span["submit"] <= span["start"]
        assert span["start"] + span["duration"] <= ended + error
    assert not any(trace.metadata["account"]["dropped"].values())


def test_perfetto_sees_every_slice_and_loses_nothing(five):
    trace, _, _, folder = five
    trace.save(folder / "five.pftrace")
    with perfetto.trace_processor(folder / "five.pftrace") as processor:
        assert perfetto.lost(processor) == []
        assert len(perfetto.slices(processor)) == len(perfetto.expected_slices(trace))
