"""HolisticTraceAnalysis loads our Chrome JSON, and its totals equal ours."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et
from tests.reference.traces import small_trace

pytestmark = pytest.mark.heavy
CHILD = Path(__file__).parent / "children" / "hta_totals.py"
TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"


def load(path: Path) -> dict[str, object]:
    if importlib.util.find_spec("hta") is None:
        pytest.skip("HolisticTraceAnalysis is not installed")
    command = [sys.executable, str(CHILD), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def totals(trace: et.Trace) -> dict[str, float]:
    """Microseconds by name, of all that is on a stream."""
    rows = trace.sql(
        "select spans.name, sum(duration) from spans join tracks on tracks.id = spans.track"
        " where tracks.kind = 'stream' and duration is not null group by spans.name"
    ).fetchall()
    return {name: float(total) / 1000 for name, total in rows}


def test_hta_reads_work_on_streams_as_kernels(tmp_path):
    trace = small_trace()
    found = load(trace.save(tmp_path / "t.json"))
    assert found["totals"] == pytest.approx(totals(trace))
    assert found["streams"] == [3, 4]
    assert found["kernel"] == pytest.approx(1.8)  # from 1500 ns to 3300 ns, without a gap
    assert found["compute"] == pytest.approx(1.8)


@pytest.mark.parametrize("name", ["nvidia_alexnet", "amd_mi250_training"])
def test_hta_reads_a_rewritten_torch_trace_as_the_original(name, tmp_path):
    source = TRACES / f"{name}.json.gz"
    if not source.exists():
        pytest.skip("../shared/traces is absent")
    trace = et.open_trace(source)
    before, after = load(source), load(trace.save(tmp_path / "t.json.gz"))
    assert after["totals"] == pytest.approx(before["totals"], abs=0.01)
    assert after["kernel"] == pytest.approx(before["kernel"], abs=0.01)
    assert after["idle"] == pytest.approx(before["idle"], abs=0.01)
