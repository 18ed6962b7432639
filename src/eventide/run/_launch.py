"""Runs a program in an interpreter of its own, for `eventide run` and `eventide check`.

The program is the real `__main__` of a fresh interpreter: `sys.argv`, tracebacks, exit codes and signals are Python's
own. A sitecustomize on PYTHONPATH starts the recording or the sanitizer and removes itself. This process waits,
forwards the signals that are sent to it, and survives a program that is killed.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from eventide.run._environment import with_bootstrap
from eventide.run._group import Witness, witness

_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
# Python ignores these for itself; the program starts with the defaults, as it would without us.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True)
class Ended:
    """How the program ended."""

    began: float  # Unix time
    seconds: float
    code: int  # its exit code; negative: the signal that killed it
    peak_bytes: int  # of resident memory
    pid: int

    def describe(self) -> str:
        """Such as "exit code 0" or "killed by SIGKILL"."""
        return f"exit code {self.code}" if self.code >= 0 else f"killed by {signal.Signals(-self.code).name}"


def launch(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    signals: Sequence[str] = (),
    stdout_to_stderr: bool = False,
) -> Ended:
    """Run `python COMMAND...` to its end, with `variables` added to its environment.

    `signals` are names of signals to forward besides the usual ones.
    """
    forwarded = _FORWARDED | {signal.Signals[name] for name in signals}
    with _blocked(forwarded | {signal.SIGCHLD}) as mask, witness(forwarded) as group:
        began, start = time.time(), time.monotonic()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *command],
            {**os.environ, **with_bootstrap(variables, os.environ.get("PYTHONPATH", ""))},
            file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)] if stdout_to_stderr else (),
            setsigmask=mask,
            setsigdef=[one for one in _RESTORED if signal.getsignal(one) == signal.SIG_IGN],
        )
        code, peak = _wait(child, forwarded, group)
    return Ended(began, time.monotonic() - start, code, peak, child)


def end_like(ended: Ended) -> int:
    """The exit code of the program, or death by the same signal: the parent gets what the program would have given."""
    if ended.code >= 0:
        return ended.code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has dumped its core; ours is of no use
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


def _wait(child: int, forwarded: set[signal.Signals], group: Witness | None) -> tuple[int, int]:
    """Forward signals until the child ends, except those that the child has received itself.

    A terminal sends its signals (si_pid 0) to all of the group.
    """
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        received = signal.sigwaitinfo(forwarded | {signal.SIGCHLD})
        if received.si_signo == signal.SIGCHLD:
            continue
        to_group = group is not None and group.received(received.si_signo)
        if received.si_pid and not to_group:
            with suppress(ProcessLookupError):
                os.kill(child, received.si_signo)
