"""The stand-in, in a process of its own, and the `torch` device on it. It tests the API, not how a GPU behaves."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).parents[2]

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs torch", allow_module_level=True)


@pytest.mark.timeout(900)
def test_torch_streams_and_events_and_the_torch_device_run_on_eventide(tmp_path):
    folder = tmp_path / "path with spaces and quote'"
    environment = {**os.environ, "STAND_IN_BUILD": str(folder), "TORCH_EXTENSIONS_DIR": str(tmp_path)}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])  # ninja is there
    cases = str(Path(__file__).with_name("stand_in_cases.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=600", cases]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False, timeout=880)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 280  # the kit on two devices, and the cases
