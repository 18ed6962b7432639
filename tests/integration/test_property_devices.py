"""The same random programs as on cpu, on every other device: the same outcomes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("device", ["sim", "tiny", "threads"])
def test_random_programs_have_the_same_outcomes(device):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/property"]
    environment = {**os.environ, "EVENTIDE_TEST_DEVICE": device}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert " passed" in ended.stdout
