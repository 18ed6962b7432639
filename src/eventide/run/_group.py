"""Which signals were sent to the whole process group: the program has received those, so they are not forwarded.

The system does not report it. A witness, a process of the same group that does nothing, has the signals blocked: one
that was sent to the group is pending there too, one that was sent to us alone is not.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PAUSES = (0.0, 0.002, 0.01)  # seconds: the system sends to one process of a group after the other
_TIMEOUT = 0.2  # seconds for the answer; a stopped witness gives none


class Witness:
    """The process, as this one sees it. Signals are blocked before it is made."""

    def __init__(self, pid: int, ask: int, answer: int) -> None:
        self._pid, self._ask, self._answer = pid, ask, answer

    def received(self, number: int) -> bool:
        """Whether it has received this signal too since the last call; the other signals are forgotten."""
        for pause in _PAUSES:
            time.sleep(pause)
            if number in self._pending():
                return True
        return False

    def _pending(self) -> bytes:
        try:
            os.write(self._ask, b"?")
            ready = select.select([self._answer], [], [], _TIMEOUT)[0]
            return os.read(self._answer, 256) if ready else b""
        except OSError:  # it was killed
            return b""

    def close(self) -> None:
        """End it."""
        os.close(self._ask)
        os.close(self._answer)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


@contextmanager
def witness(signals: set[signal.Signals]) -> Iterator[Witness | None]:
    """A witness for the body; None if there can be no other process. `signals` are blocked."""
    asked, ask = os.pipe()
    answer, answered = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for end in (asked, ask, answer, answered):
            os.close(end)
        yield None
        return
    if not pid:
        os.close(ask)
        os.close(answer)
        _attend(asked, answered, signals)
    os.close(asked)
    os.close(answered)
    one = Witness(pid, ask, answer)
    try:
        yield one
    finally:
        one.close()


def _attend(asked: int, answered: int, signals: set[signal.Signals]) -> None:
    """The life of the witness: until the other end of `asked` is closed, also if our process is killed."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):  # a reader of our output waits for all who hold it
            os.dup2(nowhere, standard)
        while os.read(asked, 1):
            received = bytearray()
            while one := signal.sigtimedwait(signals, 0):
                received.append(one.si_signo)
            os.write(answered, bytes(received) or b"\0")
    finally:
        os._exit(0)
