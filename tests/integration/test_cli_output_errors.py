"""The command line when its output cannot be written or is not read: at most one line, and the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100
UNREAD = 128 + signal.SIGPIPE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ok.py").write_text("")
    with et.Recorder(tmp_path / "t.eventide"):
        et.instant("here")
    return tmp_path


def unread(stream: str, folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a command whose stdout or stderr is a pipe without a reader, and its output on the other one."""
    read, write = os.pipe()
    os.close(read)
    out, err = (write, subprocess.PIPE) if stream == "stdout" else (subprocess.PIPE, write)
    command = [sys.executable, "-m", "eventide", *arguments]
    try:
        done = subprocess.run(command, text=True, cwd=folder, timeout=TIMEOUT, check=False, stdout=out, stderr=err)
    finally:
        os.close(write)
    return done.returncode, done.stderr if stream == "stdout" else done.stdout


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the line in bash with our `eventide`; the exit code is that of the first command."""
    whole = f'eventide() {{ "{sys.executable}" -m eventide "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
    command = ["bash", "-c", whole]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT, check=False)


@pytest.mark.parametrize("command", ["--help", "--version", "trace lint t.eventide", "devices --json", "check ok.py"])
def test_a_pipe_without_a_reader_gives_no_message_and_no_finding(folder, command):
    assert unread("stdout", folder, *command.split()) == (UNREAD, "")


def test_output_into_a_pipe_whose_reader_has_exited_ends_the_command(folder):
    done = shell("eventide trace sql t.eventide 'select * from range(100000)' --json | head -1", folder)
    assert (done.returncode, done.stdout, done.stderr) == (UNREAD, "[\n", "")


@pytest.mark.parametrize(
    "command", ["--help", "trace summary t.eventide", "check --allow-unchecked ok.py", "run -q -o u.eventide ok.py"]
)
def test_without_a_stdout_the_command_works(folder, command):
    done = shell(f"eventide {command} >&-", folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_printed_still_exits_with_2_and_is_not_on_stdout(folder, where):
    done = shell(f"eventide report missing {where}", folder)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("option", ["--json=2", "--ring"])
def test_a_summary_without_a_reader_does_not_change_the_exit_code_of_the_program(folder, option):
    (folder / "three.py").write_text("raise SystemExit(3)")
    assert unread("stderr", folder, "run", "-o", "u.eventide", option, "three.py") == (3, "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "run -o /proc/x.eventide ok.py",
            "cannot write /proc/x.eventide: No such file or directory; name another file",
        ),
        ("run -o x.txt ok.py", "or .eventide (as recorded)"),
        ("run -m", "Option '-m' requires an argument"),
        ("run ''", "name the program to run"),
        ("run t.eventide", "t.eventide is not a program; to open a trace, use: eventide report t.eventide"),
        ("run --seconds inf ok.py", "'--seconds': Input should be less than"),
        ("run --sample inf ok.py", "'--sample': Input should be less than"),
        ("run some.module", "there is no file some.module; to run a module, use: eventide run -m some.module"),
        ("check none.py", "there is no file none.py; check the path"),
        ("check ''", "name what to check"),
        ("check gone.eventide", "there is no file gone.eventide; check the path"),
        ("check --sarif /proc/x ok.py", "/proc/x cannot be written: No such file or directory; name another file"),
        ("trace recover gone.eventide", "No such file or directory; give the .eventide file of a killed process"),
        ("trace recover ok.py", "an empty file: nothing was ever recorded to it; record again"),
        ("report ok.py", "the file is empty, so nothing was ever written to it; record or copy it again"),
    ],
)
def test_misuse_is_one_line_with_the_remedy(folder, command, message):
    before = (folder / "t.eventide").read_bytes()
    done = shell(f"eventide {command}", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (folder / "t.eventide").read_bytes() == before


def test_a_recording_that_is_replaced_is_untouched_until_the_program_runs(folder):
    before = (folder / "t.eventide").read_bytes()
    done = shell("eventide run -o t.eventide --schedule nonsense ok.py", folder)
    assert done.returncode == 2
    assert (folder / "t.eventide").read_bytes() == before
