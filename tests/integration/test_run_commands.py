"""`eventide run NAME`: commands of PATH, and programs that are not Python, whose Python processes are recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100
BIN = Path(sys.executable).parent
RANK = "import os\nsum(range(10**6))\nprint('rank', os.environ['OMPI_COMM_WORLD_RANK'], flush=True)\n"
BOTH = """#!/bin/bash
export OMPI_COMM_WORLD_SIZE=2
OMPI_COMM_WORLD_RANK=0 "$PYTHON" rank.py
OMPI_COMM_WORLD_RANK=1 "$PYTHON" rank.py
exit 3
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "PATH": os.pathsep.join(map(str, (folder / "bin", BIN, os.environ["PATH"]))),
    }
    return subprocess.run(
        [sys.executable, "-m", "eventide", "run", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip


@pytest.fixture
def launcher(tmp_path) -> Path:
    """A command of PATH that starts two ranks, as mpirun does."""
    (tmp_path / "rank.py").write_text(RANK)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/both").write_text(BOTH)
    (tmp_path / "bin/both").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("name", ["both", "bin/both"])
def test_the_ranks_of_a_launcher_are_recorded(launcher, name: str):
    done = run(launcher, "-q", "-o", "t.eventide", "--json", "s.json", name, "-n", "2")
    assert (done.returncode, done.stdout, done.stderr) == (3, "rank 0\nrank 1\n", "")
    processes = json.loads((launcher / "s.json").read_text())["processes"]["rows"]
    assert (processes[0]["name"], processes[0]["command"]) == (Path(name).name, f"{name} -n 2")
    assert sorted(row["rank"] for row in processes if row["rank"] is not None) == [0, 1]
    recorded = [et.open_trace(path).metadata["process"] for path in (launcher / "t-children").iterdir()]
    assert sorted((one["rank"], one["world_size"], one["launcher"]) for one in recorded) == [
        (0, 2, "openmpi"),
        (1, 2, "openmpi"),
    ]


def test_a_killed_command_ends_us_by_the_same_signal(launcher):
    (launcher / "bin/both").write_text("#!/bin/bash\nkill -9 $$\n")
    assert run(launcher, "-q", "both").returncode == -9


def test_a_command_of_this_environment_is_a_script(tmp_path):
    done = run(tmp_path, "-q", "-o", "t.eventide", "pytest", "--version")
    assert done.returncode == 0
    alone = run(tmp_path, "-q", "-o", "u.eventide", "-m", "pytest", "--version")
    assert (done.stdout, done.stderr) == (alone.stdout, alone.stderr)
    assert not (tmp_path / "t-children").exists()


@pytest.mark.parametrize("options", [["--start-on", "USR1"], ["--dump-on", "USR1"], ["--children", "no"]])
def test_options_that_need_a_python_program_are_refused(launcher, options: Sequence[str]):
    before = sorted(launcher.iterdir())
    done = run(launcher, *options, "both")
    assert done.returncode == 2
    assert done.stderr.startswith(f"eventide: {options[0]} needs a Python program, and both is not one")
    assert sorted(launcher.iterdir()) == before


def test_a_name_that_is_neither_a_file_nor_a_command_is_an_error(tmp_path):
    done = run(tmp_path, "no-such-command")
    assert (done.returncode, done.stderr) == (2, "eventide: there is no file no-such-command; check the path\n")


@pytest.mark.parametrize("option", ["-W", "-c", "-Xdev"])
def test_an_option_of_python_names_the_command_that_takes_it(tmp_path, option: str):
    done = run(tmp_path, option, "error", "program.py")
    remedy = f"{option} is an option of Python; name the interpreter: eventide run python {option} ..."
    assert (done.returncode, done.stderr) == (2, f"eventide: {remedy}\n")


def test_the_summary_of_a_named_interpreter_is_that_of_one_process(tmp_path):
    busy = "import time\nwhile time.process_time() < 0.5: sum(range(1000))\n"
    done = run(tmp_path, "--json", "s.json", "python", "-X", "dev", "-c", busy)
    assert done.returncode == 0
    found = json.loads((tmp_path / "s.json").read_text())["summary"]
    assert (found["processes"], found["samples"]["functions"][0]["function"]) == (1, "<module>")
    assert "memory of the process, RSS" in done.stderr
