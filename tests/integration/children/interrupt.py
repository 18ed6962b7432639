"""Block the main thread in one call and interrupt it: `interrupt.py CALL inside|outside`.

inside: a thread of this process sends SIGINT, so that any thread may be the one that gets it. outside: this process
prints BLOCKED and the parent sends it. Prints the latency of each of ROUNDS interrupts, in milliseconds, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import eventide as et

LIMIT = 30.0  # seconds
ROUNDS = 3


class Boom(Exception):
    """The error after the interrupt; it must not be lost."""


class Blocked:
    """A stream held at a gate, and every call that blocks on it."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        entered = threading.Event()

        def hold() -> str:
            entered.set()
            assert self.gate.wait(4 * LIMIT)
            return "held"

        self.ran: list[str] = []
        self.stream = et.Stream("cpu", max_pending=1)
        self.future = self.stream.submit(hold)
        assert entered.wait(LIMIT)
        self.event = self.stream.record_event()
        self.behind = self.stream.submit(self._fail)
        self.pool = et.EventPool("cpu")
        self.id = self.pool.acquire_id()
        self.pool.record(self.id, self.stream)
        self.other = et.Stream("cpu")
        self.other.wait_stream(self.stream)

    def _fail(self) -> None:
        raise Boom

    def calls(self) -> dict[str, Callable[[], object]]:
        target, source = bytearray(1), bytes(1)
        return {
            "event.synchronize": self.event.synchronize,
            "event.synchronize with a timeout": lambda: self.event.synchronize(4 * LIMIT),
            "stream.synchronize": self.stream.synchronize,
            "stream.synchronize of a waiting stream": self.other.synchronize,
            "et.synchronize": lambda: et.synchronize("cpu"),
            "future.result": self.future.result,
            "future.exception": self.future.exception,
            "stream.submit": lambda: self.stream.submit(self.ran.append, "submitted"),
            "stream.copy": lambda: self.stream.copy(target, source),
            "stream.close": self.stream.close,
            "pool.synchronize": lambda: self.pool.synchronize(self.id),
        }

    def finish(self, name: str) -> None:
        """The interrupt broke nothing: the work ends, its error is raised, nothing else ran, the stream continues."""
        assert not self.future.done()
        self.gate.set()
        assert self.future.result(LIMIT) == "held"
        assert isinstance(self.behind.exception(LIMIT), Boom)
        try:
            self.stream.close(LIMIT) if name == "stream.close" else self.stream.synchronize(LIMIT)
        except Boom:
            pass
        else:
            raise AssertionError("the error of the work was lost")
        assert self.ran == [], "a submit that was interrupted has queued its work"
        self.event.synchronize(LIMIT)
        skipped = self.other.submit(self.ran.append, "on a stream that waited for one with an error")
        assert isinstance(skipped.exception(LIMIT), et.StreamError)
        stream = et.Stream("cpu") if name == "stream.close" else self.stream
        assert stream.submit(int, "42").result(LIMIT) == 42


def interrupted(call: Callable[[], object], *, inside: bool) -> float:
    """How long it took from the signal to KeyboardInterrupt, in milliseconds; negative if the call returned.

    While the switch interval is long the main thread loses the GIL only by letting go of it inside `call`: so the
    other thread runs again when the call blocks, and no earlier.
    """
    ready = threading.Event()
    sent: list[float] = []
    interval = sys.getswitchinterval()

    def send() -> None:
        ready.wait(LIMIT)
        sys.setswitchinterval(interval)
        sent.append(time.perf_counter())
        if inside:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            os.write(1, b"BLOCKED\n")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        sys.setswitchinterval(LIMIT)
        ready.set()
        call()
        # It returned without an error; let a late signal arrive here.
        sender.join(LIMIT)
        time.sleep(1.0)
        return -2.0
    except KeyboardInterrupt:
        late = time.perf_counter()
    sender.join(LIMIT)
    return (late - sent[0]) * 1e3 if sent else -1.0


def main(name: str, where: str) -> None:
    latencies = []
    for _ in range(ROUNDS):
        blocked = Blocked()
        latencies.append(interrupted(blocked.calls()[name], inside=where == "inside"))
        blocked.finish(name)
    sys.stdout.write(json.dumps(latencies) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
