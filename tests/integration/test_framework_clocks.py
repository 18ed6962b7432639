"""Unix time of torch's profiler and of JAX's, mapped to the trace's clock: work lands between the host's marks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
LIMIT = 200  # seconds

# Each makes a file; in it is a span "marked", which began and ended between the two marks.
TORCH = """
import torch
from torch.profiler import ProfilerActivity, profile, record_function
path = sys.argv[1] + "/t.json.gz"
def work():
    with record_function("marked"):
        torch.ones(64, 64) @ torch.ones(64, 64)
work()
with profile(activities=[ProfilerActivity.CPU]) as prof:
    before = time.monotonic_ns()
    work()
    after = time.monotonic_ns()
prof.export_chrome_trace(path)
"""
JAX = """
import jax
path = sys.argv[1]
x = jax.numpy.ones((64, 64))
(x @ x).block_until_ready()
with jax.profiler.trace(path):
    before = time.monotonic_ns()
    with jax.profiler.TraceAnnotation("marked"):
        (x @ x).block_until_ready()
    after = time.monotonic_ns()
"""
FRAME = """
import json, sys, time
import eventide as et
from eventide.runtime import HostClock
clock = HostClock("CLOCK_REALTIME")
{work}
clock.sample()
trace = et.open_trace(path)
assert trace.metadata["clock"]["name"] == "unix"
(row,) = [row for row in trace.spans.to_pylist() if row["name"] == "marked"]
end = row["start"] + row["duration"]
print(json.dumps([before, clock.to_trace(row["start"]), clock.to_trace(end), after, clock.error_ns(end)]))
"""


@pytest.mark.parametrize(("framework", "work"), [("torch", TORCH), ("jax", JAX)])
def test_work_bracketed_by_host_marks_lands_between_them(framework, work, tmp_path):
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    command = [sys.executable, "-c", FRAME.replace("{work}", work), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    before, start, end, after, error = json.loads(done.stdout.splitlines()[-1])
    assert 0 <= error < 1_000_000
    assert before - error <= start <= end <= after + error
