"""An allocation of the core fails: the verb raises, nothing is lost, and the stream works on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
compiler = shutil.which("c++") or shutil.which("g++")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults") / "no_memory.so"
    source = HERE / "faults" / "no_memory.cpp"
    subprocess.run([str(compiler), "-shared", "-fPIC", "-o", made, source], check=True, timeout=60)
    return made


@pytest.mark.skipif(compiler is None, reason="no C++ compiler")
@pytest.mark.parametrize("device", ["cpu", "sim", "python", "immediate", "plugin"])
def test_each_allocation_of_each_verb_may_fail(library: Path, device: str) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "programs" / "without_memory.py", library, device],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=6 * TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines())
    assert len(counts) == 11
    assert int(counts["synchronize the device"]) > 0, "no allocation failed: operator new was not replaced"
