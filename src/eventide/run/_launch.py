"""Runs a program in an interpreter of its own, recorded, and otherwise as if nobody watched.

The program is the real `__main__` of a fresh interpreter: `sys.argv`, tracebacks, exit codes and signals are Python's
own. A sitecustomize on PYTHONPATH starts the recording and takes itself out of the way. This process only waits, hands
on the signals that were sent to it, and is still there when the program was killed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_SITE = Path(__file__).parent / "_site"
_HANDED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
# What Python ignores for itself and a program must find as it was.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True)
class Settings:
    """How the recording is made; the child reads it from its environment."""

    path: str
    ring: bool = False
    sample_ms: float = 10.0  # 0: no sampled stacks
    start_on: str = ""  # the name of a signal; empty: from the start
    seconds: float = 0.0  # 0: to the end
    dump_on: str = ""  # the name of a signal that makes a copy of what is recorded so far
    hang_seconds: float | None = None  # so does nothing being recorded for so long
    schedule: tuple[int, int, int, int] | None = None  # wait, warmup, active, repeat, in steps
    torch: tuple[str, ...] = ("ops", "modules")  # see integrations.torch._run.CHOICES; empty: nothing is heard of it
    torch_seconds: float = 20.0  # of its own profiler; 0: to the end


@dataclass(frozen=True)
class Ended:
    """How the program ended."""

    began: float  # Unix time
    seconds: float
    code: int  # its exit code; negative: the signal that killed it
    peak_bytes: int  # of resident memory

    def describe(self) -> str:
        """Such as "exit code 0" or "killed by SIGKILL"."""
        return f"exit code {self.code}" if self.code >= 0 else f"killed by {signal.Signals(-self.code).name}"


def watched_environment() -> dict[str, str]:
    """The environment of a program that our sitecustomize sees first."""
    environment = dict(os.environ)
    before = environment.get("PYTHONPATH", "")
    environment["EVENTIDE_RUN_PYTHONPATH"] = before
    environment["PYTHONPATH"] = os.pathsep.join([str(_SITE), before] if before else [str(_SITE)])
    return environment


def launch(command: Sequence[str], settings: Settings) -> Ended:
    """Run `python COMMAND...` to its end."""
    environment = watched_environment()
    environment["EVENTIDE_RUN"] = json.dumps(asdict(settings))
    asked_for = {signal.Signals[name] for name in (settings.start_on, settings.dump_on) if name}
    handed_on = _HANDED_ON | asked_for
    with _blocked(handed_on | {signal.SIGCHLD}) as mask:
        began, start = time.time(), time.monotonic()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *command],
            environment,
            setsigmask=mask,
            setsigdef=[one for one in _RESTORED if signal.getsignal(one) == signal.SIG_IGN],
        )
        code, peak = _wait(child, handed_on)
    return Ended(began, time.monotonic() - start, code, peak)


def die_like(ended: Ended) -> int:
    """The exit code, or the same death: whoever waits for us must see what the program would have shown."""
    if ended.code >= 0:
        return ended.code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's core is worth keeping, ours is not
    if -ended.code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-ended.code, signal.SIG_DFL)
    os.kill(os.getpid(), -ended.code)
    return 128 - ended.code  # the signal is blocked or ignored


@contextmanager
def _blocked(signals: set[signal.Signals]) -> Iterator[set[int]]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield {int(one) for one in before}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, handed_on: set[signal.Signals]) -> tuple[int, int]:
    """Hand signals on until the child ends. A terminal sends its signals to both: those it has already."""
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        came = signal.sigwaitinfo(handed_on | {signal.SIGCHLD})
        if came.si_signo != signal.SIGCHLD and came.si_pid:
            try:
                os.kill(child, came.si_signo)
            except ProcessLookupError:
                continue
