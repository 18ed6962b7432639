"""The same random programs as on cpu, on every other device: the same outcomes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The others say nothing about a device.
PROGRAMS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "tests/property").glob("test_*.py")
    if "from tests.property.device_under_test import" in path.read_text("utf-8")
)


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("device", ["sim", "tiny", "threads"])
def test_random_programs_have_the_same_outcomes(device):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PROGRAMS]
    environment = {**os.environ, "EVENTIDE_TEST_DEVICE": device}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert " passed" in ended.stdout


def test_the_programs_include_the_stream_machine():
    assert "tests/property/test_stream_machine.py" in PROGRAMS
