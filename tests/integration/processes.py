"""Children: scripts of tests/integration/children in interpreters of their own, with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parents[2]
CHILDREN = Path(__file__).parent / "children"
LIMIT = 60.0  # seconds; a child takes one or two, so a child that reaches it hangs

# What a crashed process prints; an unhandled Python error of the child is not a crash.
CRASHES = ("Fatal Python error", "terminate called", "Segmentation fault", "Aborted", "core dumped", "Sanitizer")


@dataclass(frozen=True)
class Ended:
    """A child that ended by itself."""

    arguments: tuple[str, ...]
    code: int  # negative: the signal that ended it
    out: str
    err: str
    seconds: float

    def __str__(self) -> str:
        return f"{' '.join(self.arguments)} -> {self.code} after {self.seconds:.2f} s\n{self.out}\n{self.err}"

    def check(self, code: int) -> Ended:
        """It ended with `code` and without a crash."""
        assert self.code == code, f"expected exit code {code}: {self}"
        assert not [word for word in CRASHES if word in self.err], str(self)
        return self


@dataclass(frozen=True)
class Child:
    """A child that runs; its stderr goes to a file, so that it need not be read in time."""

    arguments: tuple[str, ...]
    process: subprocess.Popen[str]
    err: IO[str]
    began: float

    def finish(self, limit: float = LIMIT) -> Ended:
        """Wait for the end; one that hangs is made to print its stacks, killed, and an error."""
        hangs = False
        try:
            out, _ = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            hangs = True
            out = self._kill()
        seconds = time.monotonic() - self.began
        with self.err:
            self.err.seek(0)
            err = self.err.read()
        assert not hangs, f"{' '.join(self.arguments)} did not end within {limit} s\n{out}\n{err}"
        return Ended(self.arguments, self.process.returncode, out, err, seconds)

    def _kill(self) -> str:
        self.process.send_signal(signal.SIGABRT)  # the fault handler prints every thread's stack
        try:
            return self.process.communicate(timeout=10.0)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[0]


def start(script: str, *arguments: object, **variables: str) -> Child:
    """Start children/<script>.py with more environment variables."""
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONPATH": str(ROOT), **variables}
    words = (script, *map(str, arguments))
    command = [sys.executable, str(CHILDREN / f"{script}.py"), *words[1:]]
    err = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `finish`
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True, env=environment)
    return Child(words, process, err, began)


def run(script: str, *arguments: object, limit: float = LIMIT, **variables: str) -> Ended:
    return start(script, *arguments, **variables).finish(limit)


def run_many(script: str, arguments: Iterable[Sequence[object]], at_a_time: int = 2, **variables: str) -> list[Ended]:
    """Run all, a few at a time; results are in the given order."""
    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(lambda one: run(script, *one, **variables), arguments))


def say(line: str) -> None:
    """Print a figure, which `pytest -rP` shows."""
    sys.stdout.write(line + "\n")
