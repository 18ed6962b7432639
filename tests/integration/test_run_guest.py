"""`eventide run` is a guest: exit code, output and signals are the program's, also on a full disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TIMEOUT = 100
PRINTS = """
import os, signal, sys
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.write(1, b"%d\\n" % number))  # print() may be interrupted by itself
print("ready", flush=True)
sys.stdin.read()
"""


def started(folder: Path, *options: str, program: str = PRINTS) -> subprocess.Popen[str]:
    """The program, under eventide in a process group of its own, once it has printed its first line."""
    (folder / "prints.py").write_text(program)
    command = [sys.executable, "-m", "eventide", "run", *options, "-o", "t.eventide", "prints.py"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, text=True, cwd=folder, process_group=0, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_signal_to_the_process_group_reaches_the_program_once_and_one_to_us_too(tmp_path):
    with started(tmp_path, "-q") as process:
        received = []
        for number, send in ((signal.SIGUSR1, os.killpg), (signal.SIGTERM, os.kill)) * 3:
            send(process.pid, number)
            received.append(int(process.stdout.readline()))
        out, err = process.communicate("", timeout=TIMEOUT)
    assert received == [signal.SIGUSR1, signal.SIGTERM] * 3
    assert (out, err, process.returncode) == ("", "", 0)


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_full_disk_is_one_line_and_the_program_runs(tmp_path, options: Sequence[str]):
    (tmp_path / "three.py").write_text("print('ran')")
    (tmp_path / "t.eventide").symlink_to("/dev/full")
    command = [sys.executable, "-m", "eventide", "run", *options, "-o", "t.eventide", "three.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=TIMEOUT, check=False)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    path = tmp_path / "t.eventide"
    assert done.stderr == (f"eventide: not recording: cannot write {path}: No space left on device; free some space\n")


def test_the_summary_as_json_goes_to_a_descriptor_that_the_program_does_not_have(tmp_path):
    program = "import os, stat\nprint([n for n in range(3, 99) if os.path.exists(f'/proc/self/fd/{n}') "
    program += "and stat.S_ISFIFO(os.fstat(n).st_mode)])"
    (tmp_path / "x.py").write_text(program)
    read, write = os.pipe()
    command = [sys.executable, "-m", "eventide", "run", "-q", "--json", str(write), "-o", "t.eventide", "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, pass_fds=[write], check=False)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as document:
        summary = json.load(document)
    assert summary["ended"]["code"] == done.returncode == 0
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("where", ["987", "no/such/folder/s.json"])
def test_a_place_for_json_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path, where):
    (tmp_path / "x.py").write_text("print('ran')")
    command = [sys.executable, "-m", "eventide", "run", "--json", where, "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=TIMEOUT, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--json {where} cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.py"]


@pytest.mark.parametrize("options", [[], ["--torch", "none"]], ids=["usual", "others"])
def test_a_program_from_stdin_runs_as_python_runs_it(tmp_path, options: Sequence[str]):
    command = [sys.executable, "-m", "eventide", "run", "-q", *options, "-", "a", "-q"]
    program = "import sys\nprint(sys.argv, __name__)\nsys.exit(3)\n"
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, input=program, timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "['-', 'a', '-q'] __main__\n", "")
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["stdin"]
