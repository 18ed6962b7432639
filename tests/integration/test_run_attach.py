"""`eventide run --pid` records a process that already runs; before Python 3.14 it says what to use instead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100
ATTACHES = sys.version_info >= (3, 14)
attaches = pytest.mark.skipif(not ATTACHES, reason="sys.remote_exec came with Python 3.14")
BUSY = """
import sys, threading
def spin():
    while not done.is_set():
        sum(range(2000))
done = threading.Event()
other = threading.Thread(target=spin, name="spinner")
other.start()
print("ready", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
spin()
other.join()
print(sorted(name for name in sys.modules if name.startswith("eventide.run")) != [], flush=True)
print([entry for entry in sys.path if entry.endswith("eventide")])
sys.exit(5)
"""


def run(*options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", "run", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)


@pytest.fixture
def busy(tmp_path) -> Iterator[subprocess.Popen[str]]:
    """A program that computes on two threads until its input ends."""
    (tmp_path / "busy.py").write_text(BUSY)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "busy.py"], cwd=tmp_path, text=True, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Let it end; its exit code, output and errors."""
    out, err = process.communicate("", timeout=TIMEOUT)
    return process.returncode, out, err


@pytest.mark.skipif(ATTACHES, reason="sys.remote_exec came with this Python")
def test_an_older_python_says_what_works_instead(tmp_path):
    done = run("--pid", str(os.getpid()), folder=tmp_path)
    assert done.returncode == 2
    assert "--pid needs Python 3.14 or later" in done.stderr
    assert "eventide run --start-on SIGUSR1" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["p.py"], "a program"),
        (["-m", "json.tool"], "-m"),
        (["--start-on", "USR1"], "--start-on"),
        (["--dump-on", "USR1"], "--dump-on"),
        (["--schedule", "1,1,1"], "--schedule"),
    ],
)
def test_options_of_a_program_to_start_are_refused(tmp_path, options: Sequence[str], named: str):
    done = run("--pid", "1", *options, folder=tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr == f"eventide: --pid records a process that runs already, without {named}; leave one of them out\n"
    )


@attaches
def test_a_running_process_is_recorded_for_some_seconds_and_continues(tmp_path, busy):
    done = run("--pid", str(busy.pid), "--seconds", "0.5", "-o", "t.eventide", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"process {busy.pid} continues" in done.stderr
    assert ended(busy) == (5, "True\n[]\n", "")
    samples = et.open_trace(tmp_path / "t.eventide").samples()
    assert {"MainThread", "spinner"} <= {row.thread for row in samples.threads}
    assert any("spin" in row.function for row in samples.functions)


@attaches
def test_ctrl_c_ends_the_recording_only_and_a_second_one_can_follow(tmp_path, busy):
    for name in ("one", "two"):
        command = [sys.executable, "-m", "eventide", "run", "--pid", str(busy.pid), "-o", f"{name}.eventide"]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as eventide:
            assert "recording process" in eventide.stderr.readline()
            eventide.send_signal(signal.SIGINT)
            _, err = eventide.communicate(timeout=TIMEOUT)
        assert eventide.returncode == 0, err
        assert et.open_trace(tmp_path / f"{name}.eventide").metadata["account"]
    assert ended(busy)[0] == 5


@attaches
def test_the_end_of_the_process_ends_the_recording(tmp_path, busy):
    command = [sys.executable, "-m", "eventide", "run", "--pid", str(busy.pid), "-o", "t.eventide", "--json", "s.json"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as eventide:
        assert "recording process" in eventide.stderr.readline()
        assert ended(busy)[0] == 5
        _, err = eventide.communicate(timeout=TIMEOUT)
    assert f"process {busy.pid} has ended" in err
    assert json.loads((tmp_path / "s.json").read_text())["ended"]["runs"] is False


@attaches
def test_a_process_that_eventide_run_records_is_refused(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    pipe = subprocess.PIPE
    code = "import os, runpy; print(os.getpid(), flush=True); runpy.run_path('busy.py')"
    (tmp_path / "outer.py").write_text(code)
    command = [sys.executable, "-m", "eventide", "run", "-q", "outer.py"]
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdin=pipe, stdout=pipe) as outer:
        pid = outer.stdout.readline().strip()
        assert outer.stdout.readline() == "ready\n"
        done = run("--pid", pid, "-o", "t.eventide", folder=tmp_path)
        outer.communicate("", timeout=TIMEOUT)
    assert (done.returncode, outer.returncode) == (2, 5)
    assert "it was started by eventide run, which records it" in done.stderr


@attaches
def test_a_process_without_remote_execution_says_what_it_lacks(tmp_path):
    environment = {**os.environ, "PYTHON_DISABLE_REMOTE_DEBUG": "1"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment) as process:
        done = run("--pid", str(process.pid), folder=tmp_path)
        process.communicate(b"\n", timeout=TIMEOUT)
    assert done.returncode == 2
    assert f"process {process.pid} cannot be recorded" in done.stderr
    assert list(tmp_path.iterdir()) == []
