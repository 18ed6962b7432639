"""Random concurrent programs for a few seconds on each device; `make soak` runs them for minutes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.devices import LIGHT

ROOT = Path(__file__).resolve().parents[2]


def soak(device: str, seconds: float) -> None:
    command = [sys.executable, "-m", "tests.soak", "--device", device, "--seconds", str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == 0, f"exit code {ended.returncode}\n{ended.stdout[-4000:]}\n{ended.stderr[-8000:]}"
    row = ended.stdout.splitlines()[-1]
    assert row.startswith(f"| {device} |") and row.endswith("| right |"), row


@pytest.mark.timeout(300)
@pytest.mark.parametrize("device", LIGHT)
def test_random_concurrent_programs_end_with_every_future_settled_and_nothing_grown(device: str) -> None:
    soak(device, seconds=2)


@pytest.mark.heavy
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("opencl")
def test_the_same_on_opencl() -> None:
    soak("opencl", seconds=10)


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_the_same_on_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    soak("torch", seconds=10)
