"""A skip for something that is missing fails in CI, and is a skip elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta._project import ROOT

TESTS = """
import pytest

def test_tool():
    pytest.skip("clang++ is not here")

def test_package():
    pytest.importorskip("no_such_package", reason="no_such_package is not installed")

def test_device():
    pytest.skip("no 'copy'")

@pytest.mark.xfail
def test_known():
    raise ValueError
"""


@pytest.mark.parametrize(
    ("ci", "markers", "outcomes"),
    [
        ("", "heavy or not heavy", {"failed": 0, "skipped": 4}),
        ("true", "not heavy", {"failed": 1, "skipped": 3}),
        ("true", "heavy or not heavy", {"failed": 3, "skipped": 1}),
    ],
)
def test_a_missing_tool_fails_in_ci(tmp_path: Path, ci: str, markers: str, outcomes: dict[str, int]) -> None:
    hooks = "from tests.skips import pytest_make_collect_report, pytest_runtest_makereport\n"
    (tmp_path / "conftest.py").write_text(hooks, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = heavy\n", "utf-8")
    (tmp_path / "test_some.py").write_text(TESTS, "utf-8")
    (tmp_path / "test_module.py").write_text(
        "import pytest\npytest.importorskip('no_such_package', reason='no_such_package is not installed')\n", "utf-8"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            markers,
            "--continue-on-collection-errors",
        ],
        cwd=tmp_path,
        env={**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.splitlines()[-1]
    failed = outcomes["failed"]
    assert f"{outcomes['skipped']} skipped" in last
    assert "1 xfailed" in last
    assert done.returncode == (1 if failed else 0)
    assert sum(done.stdout.count(f"{word} test_") for word in ("FAILED", "ERROR")) == failed
