"""`eventide run --dump-on` and `--hang-seconds`: a program that hangs is dumped while it hangs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100

# Its threads run Python when asked to, so the sampler continues to write while it does not have the lock.
LOCKED = """
import sys, threading
import eventide as et
lock = threading.Lock()
with et.span("before"):
    lock.acquire()
def stuck():
    with et.span("stuck"):
        lock.acquire()
thread = threading.Thread(target=stuck)
thread.start()
print("stuck", flush=True)
sys.stdin.readline()
lock.release()
thread.join()
"""


@contextmanager
def running(folder: Path, *options: str, program: str = LOCKED) -> Iterator[subprocess.Popen[str]]:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "eventide", "run", "-o", "t.eventide", *options, "program.py"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "stuck\n"
            yield process
        finally:
            if process.poll() is None:
                process.terminate()  # which eventide forwards


def said(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate("go on\n", timeout=TIMEOUT)
    assert (process.returncode, out) == (0, "")
    return err


@pytest.mark.parametrize("options", [("--ring",), ()])
def test_a_hang_is_dumped_although_stacks_are_sampled(tmp_path, options):
    with running(tmp_path, *options, "--hang-seconds", "0.5", "--sample", "1") as process:
        dump = tmp_path / "t-dump-1.eventide"
        words = "nothing was recorded for 0.5 s"
        assert said(process) == f"eventide: {words}; what was recorded until then is in {dump}\n"
        trace = et.open_trace(dump)
        err = ended(process)
    trace.check()
    assert trace.metadata["dumped"] == words
    assert trace.spans.column("name").to_pylist() == ["before", "stuck"]
    assert trace.spans.column("duration").null_count == 1
    stacks = trace.stacks["frames"].to_pylist()
    samples = [row for row in trace.instants.to_pylist() if row["category"] == "sample"]
    assert "stuck" in {frame["function"] for row in samples for frame in stacks[row["stack"]]}
    for what, file in (("written", "t.eventide"), ("dumped", "t-dump-1.eventide")):
        name = re.escape(file)
        assert re.search(rf"{what}: {name} \(\S+ KiB\)$", err, re.MULTILINE)


@pytest.mark.parametrize("name", ["usr2", "SIGALRM"])  # the second is handed on only because it is asked for
def test_each_signal_makes_a_dump_and_the_program_continues(tmp_path, name):
    number = signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]
    with running(tmp_path, "--ring", "--dump-on", name, "--json", "2", "-q") as process:
        for count in (1, 2):
            process.send_signal(number)  # to eventide, which forwards it
            assert f"is in {tmp_path / f't-dump-{count}.eventide'}" in said(process)
        summary = json.loads(ended(process))
    assert summary["dumps"] == ["t-dump-1.eventide", "t-dump-2.eventide"]
    assert summary["files"] == ["t.eventide"]
    for count in (1, 2):
        names = et.open_trace(tmp_path / f"t-dump-{count}.eventide").spans.column("name").to_pylist()
        assert names == ["before", "stuck"]


def test_a_signal_before_the_recording_prints_a_line_and_does_not_end_the_program(tmp_path):
    program = "import sys\nprint('stuck', flush=True)\nsys.stdin.readline()\n"
    with running(tmp_path, "--start-on", "USR1", "--dump-on", "USR2", program=program) as process:
        process.send_signal(signal.SIGUSR2)
        assert said(process) == "eventide: SIGUSR2 received, but nothing is being recorded now\n"
        assert "nothing was recorded: SIGUSR1 was never received" in ended(process)


def test_a_signal_that_the_program_handles_stays_with_the_program_and_is_reported(tmp_path):
    program = """
import signal, sys
signal.signal(signal.SIGUSR2, lambda *_: print("mine", file=sys.stderr, flush=True))
print("stuck", flush=True)
sys.stdin.readline()
"""
    with running(tmp_path, "--dump-on", "USR2", "--quiet", program=program) as process:
        process.send_signal(signal.SIGUSR2)
        assert said(process) == "mine\n"
        err = ended(process)
    number = int(signal.SIGUSR2)
    assert err.startswith(f"eventide: signal {number} was taken over by the program, so that it made no copies")
    assert err.count("\n") == 1


CYCLES = """
import os, signal, sys, torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(6):
    if step in (1, 4):
        os.kill(os.getpid(), signal.SIGUSR2)
        folder = {1: "t-dump-1.eventide", 4: "t-2-dump-1.eventide"}[step]
        while not os.path.exists(folder):
            pass
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("stuck", flush=True)
sys.stdin.readline()
"""


@pytest.mark.heavy
def test_a_dump_is_not_taken_for_a_cycle_of_a_schedule(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    with running(
        tmp_path, "--schedule", "1,0,2,2", "--dump-on", "USR2", "--json", "2", "-q", program=CYCLES
    ) as process:
        err = ended(process)
    summary = json.loads(err[err.index("{") :])
    assert summary["files"] == ["t.eventide", "t-2.eventide"]
    assert summary["dumps"] == ["t-dump-1.eventide", "t-2-dump-1.eventide"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--start-on", "USR2", "--dump-on", "SIGUSR2"),
            "--start-on and --dump-on are both SIGUSR2; use another",
        ),
        (
            ("--dump-on", "SIGNONE"),
            "--dump-on SIGNONE is not a signal that a program can handle; use one",
        ),
        (("--dump-on", "SIGSEGV"), "--dump-on SIGSEGV is not a signal that a program can handle"),
        (("--hang-seconds", "0"), "'--hang-seconds': Input should be greater than or equal to 0.01"),
    ],
)
def test_invalid_options_are_one_line_and_nothing_runs(tmp_path, options, message):
    (tmp_path / "x.py").write_text("print('ran')")
    command = [sys.executable, "-m", "eventide", "run", *options, "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=TIMEOUT, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
