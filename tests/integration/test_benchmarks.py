"""The benchmarks run, with their peers. What they measure is not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_every_benchmark_gives_its_rows(tmp_path):
    out = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(out)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580, check=False)
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(out.read_text())["rows"]
    assert [row["what"] for row in rows if row["problem"]] == [], ended.stdout
    for peer in ("CallbackRegistry", "ThreadPoolExecutor", "PyOpenCL"):
        assert any(peer in row["against"] and row["ratio"] for row in rows), f"no row against {peer}:\n{ended.stdout}"
