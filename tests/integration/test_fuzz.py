"""Every reader of the core under libFuzzer, for some seconds each."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.heavy
@pytest.mark.timeout(1800)
def test_no_input_breaks_a_reader() -> None:
    if not shutil.which("clang++"):
        pytest.skip("clang++ is not here")
    command = ["make", "fuzz-quick", "FUZZ_TIME=10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.endswith("0 findings")]
    assert len(lines) == len(list((ROOT / "native" / "fuzz").glob("fuzz_*.cpp")))
