"""The benchmarks run, with their peers. What they measure is not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import names

ROOT = Path(__file__).resolve().parents[2]
SHARED = {"bench_critical_path", "bench_kineto_load", "bench_page"}  # measure real traces, which lie beside the project


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", names())
def test_every_benchmark_gives_its_rows(tmp_path, name):
    if name in SHARED and not (ROOT.parent / "shared" / "traces").is_dir():
        pytest.skip("the traces of ../shared are not here")
    out = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks", name, "--quick", "--json", str(out)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=880, check=False)
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(out.read_text())["rows"]
    assert rows, ended.stdout
    assert [row["what"] for row in rows if row["problem"]] == [], ended.stdout
