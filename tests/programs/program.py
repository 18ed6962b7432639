"""A program that was not written for Eventide, and how it ran alone and under a recorder."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

TIMEOUT = 300


@dataclass(frozen=True)
class Program:
    """`command` follows `python`; `files` are written into its folder first. `drive` acts while it runs."""

    name: str
    command: Sequence[str]
    files: dict[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()  # modules and commands
    drive: Callable[[subprocess.Popen[str]], None] | None = None
    prepare: Callable[[Path], None] | None = None
    launcher: Sequence[str] = ()  # a command in front of python; `eventide run` starts it
    attached: bool = False  # `eventide run --pid` records it while it runs
    sorted_output: bool = False  # processes print in any order
    options: Sequence[str] = ()  # of `eventide run`
    torch: bool = False  # torch.profiler applies
    compared: bool = False  # with other tools; some of them take a minute for a large program

    def missing(self) -> str:
        """What it needs and this machine lacks; empty if nothing."""
        return ", ".join(each for each in self.needs if not _exists(each))


def _exists(name: str) -> bool:
    """Whether there is a command, a module, or a function of sys with that name."""
    return bool(shutil.which(name)) or hasattr(sys, name) or importlib.util.find_spec(name) is not None


@dataclass(frozen=True)
class Ran:
    """How it ended, and what it printed, without what differs from run to run."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float = 0.0  # seconds, of all its processes


_VARIES = (
    (re.compile(r"\d+(\.\d+)?(e-?\d+)? ?(nsec|usec|msec|sec|ns|us|ms|s)\b"), "<time>"),
    (re.compile(r"0x[0-9a-f]+"), "<address>"),
    (re.compile(r"port \d+|:\d{4,5}\b|\[\d\d/\w+/\d{4} [\d:]+\]"), "<port or date>"),
    (re.compile(r"\b[Pp]id[ =]?\d+|\[\w+:\d+\]|\b\d{3,7}\b(?= \w*[Tt]hread)"), "<pid>"),
)


def plain(text: str, *, in_order: bool) -> str:
    """Without times, addresses, ports and process ids."""
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text if in_order else "\n".join(sorted(text.splitlines()))


def _interruptible() -> None:
    """A shell starts commands in the background with SIGINT ignored, which the program would inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(program: Program, command: Sequence[str], folder: Path) -> Ran:
    """Run a command line in a folder with the files of the program."""
    for name, content in program.files.items():
        (folder / name).write_text(content)
    if program.prepare is not None:
        program.prepare(folder)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    began, spent = time.monotonic(), _cpu_of_children()
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=_interruptible,  # noqa: PLW1509 - one thread
    ) as process:  # fmt: skip
        try:
            if program.drive is not None:
                program.drive(process)
            out, err = process.communicate(timeout=TIMEOUT)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    seconds, cpu = time.monotonic() - began, _cpu_of_children() - spent
    in_order = not program.sorted_output
    out, err = (text.replace(str(folder), "<folder>") for text in (out, err))
    return Ran(process.returncode, plain(out, in_order=in_order), plain(err, in_order=in_order), seconds, cpu)


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def alone(program: Program, folder: Path) -> Ran:
    """As its user starts it."""
    return run(program, [*program.launcher, sys.executable, *program.command], folder)


def recorded(program: Program, folder: Path) -> Ran:
    """The same under `eventide run`; the recording stays in the folder."""
    eventide = [sys.executable, "-m", "eventide", "run", "-q", *program.options]
    if program.attached:
        done = run(replace(program, drive=attach), [sys.executable, *program.command], folder)
    else:
        python = [*program.launcher, sys.executable] if program.launcher else []
        done = run(program, [*eventide, *python, *program.command], folder)
    lines = done.err.splitlines(keepends=True)
    return replace(done, err="".join(line for line in lines if not line.startswith("eventide: ")))


def attach(process: subprocess.Popen[str]) -> None:
    """Record a process that runs for a second, into its folder."""
    command = [sys.executable, "-m", "eventide", "run", "-q", "--pid", str(process.pid), "--seconds", "1"]
    subprocess.run(command, cwd=f"/proc/{process.pid}/cwd", check=True)
