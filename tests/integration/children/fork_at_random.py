"""Fork at random moments while workers are busy: `fork_at_random.py SEED COUNT`. Prints what each child reported."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import eventide as et

LIMIT = 30.0  # seconds, for a child and for each call in it
# Since 3.12 Python warns of a fork beside any thread, and a native one counts.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)


@dataclass
class Parent:
    """Streams with Python work, native work, callbacks and a gate that stays closed until after the last fork."""

    gate: threading.Event = field(default_factory=threading.Event)
    python: et.Stream = field(default_factory=lambda: et.Stream("cpu"))
    native: et.Stream = field(default_factory=lambda: et.Stream("cpu"))
    held: et.Stream = field(default_factory=lambda: et.Stream("cpu"))
    event: et.Event = field(default_factory=lambda: et.Event("cpu"))
    pool: et.EventPool = field(default_factory=lambda: et.EventPool("cpu"))
    futures: list[et.Future] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    event_of_noise: et.Event = field(default_factory=lambda: et.Event("cpu"))
    rounds: int = 0
    requested: int = 0

    def start(self) -> None:
        self.pending = self.held.submit(self.gate.wait, 10 * LIMIT)
        self.event.record(self.held)
        self.acquired = self.pool.acquire()
        self.acquired.record(self.held)
        self.blocked = threading.Thread(target=self.event.synchronize, daemon=True)
        self.blocked.start()
        self.noise = threading.Thread(target=self._make_noise, daemon=True)
        self.noise.start()

    def _make_noise(self) -> None:
        """Calls that release the GIL, so that a fork interrupts them."""
        stream = et.Stream("cpu")
        while not self.gate.is_set():
            future = stream.submit(_square, self.rounds)
            self.event_of_noise.record(stream)
            self.event_of_noise.synchronize(LIMIT)
            assert future.done()
            self.rounds += 1
        stream.close(LIMIT)

    def feed(self) -> None:
        """More work for every worker, so that all are busy at the next fork."""
        usleep = ctypes.CDLL(None).usleep
        for number in range(50):
            self.futures.append(self.python.submit(_square, len(self.futures)))
            self.native.submit_native(usleep, 100)
            if number % 10 == 0:
                self.requested += 1
                self.python.record_event().notify(lambda event: self.received.append(event.event_id))

    def finish(self) -> None:
        """Every requested callback of the parent has run, once."""
        self.gate.set()
        assert self.pending.result(LIMIT) is True
        self.blocked.join(LIMIT)
        assert not self.blocked.is_alive(), "synchronize never returned"
        self.noise.join(LIMIT)
        assert not self.noise.is_alive()
        assert self.event_of_noise.version == self.rounds > 0, "the noise died"
        assert [future.result(LIMIT) for future in self.futures] == [n * n for n in range(len(self.futures))]
        self.native.synchronize(LIMIT)
        deadline = time.monotonic() + LIMIT
        while len(self.received) < self.requested and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(self.received) == self.requested, (len(self.received), self.requested)


def _square(number: int) -> int:
    return number * number + 0 * sum(range(2000))  # some 50 us, so that the worker is busy at the fork


def check_child(parent: Parent) -> None:
    """In the child new objects work, and those of the parent raise an error that names the fork."""
    stream, event = et.Stream("cpu"), et.Event("cpu", enable_timing=True)
    received = threading.Event()
    assert stream.submit(_square, 12).result(LIMIT) == 144
    event.record(stream)
    event.notify(lambda _: received.set())
    event.synchronize(LIMIT)
    assert received.wait(LIMIT)
    assert et.default_stream("cpu").submit(_square, 3).result(LIMIT) == 9
    assert et.EventPool("cpu").acquire().query()
    et.synchronize("cpu", LIMIT)

    old: dict[str, Callable[[], object]] = {
        "Stream.submit": lambda: parent.python.submit(int),
        "Stream.submit_native": lambda: parent.native.submit_native(ctypes.CDLL(None).usleep, 1),
        "Stream.synchronize": lambda: parent.held.synchronize(LIMIT),
        "Stream.query": parent.held.query,
        "Stream.record_event": parent.held.record_event,
        "Stream.wait_event": lambda: parent.held.wait_event(event),
        "Stream.wait_stream": lambda: stream.wait_stream(parent.held),
        "Event.record": lambda: parent.event.record(stream),
        "Event.wait": lambda: parent.event.wait(stream),
        "Event.query": parent.event.query,
        "Event.synchronize": lambda: parent.event.synchronize(LIMIT),
        "Event.notify": lambda: parent.event.notify(print),
        "EventPool.acquire": parent.pool.acquire,
        "Future.result": lambda: parent.pending.result(LIMIT),
    }
    wrong = [problem for name, call in old.items() if (problem := _problem(name, call))]
    assert not wrong, "; ".join(wrong)
    assert stream.submit(_square, 5).result(LIMIT) == 25
    with contextlib.suppress(et.EventideError):
        del parent.acquired


def _problem(name: str, call: Callable[[], object]) -> str | None:
    """What is wrong with a call on a parent's object, which has to be refused."""
    try:
        answer = call()
    except (et.StreamError, et.EventError) as error:
        return None if "before fork" in str(error) else f"{name} said {error}"
    return f"{name} of a parent's object said {answer!r} instead of raising"


def reap(pid: int) -> str | None:
    """None, or what went wrong with the child."""
    deadline = time.monotonic() + 2 * LIMIT
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == 3 else f"exit code {code}"
        time.sleep(0.001)
    os.kill(pid, signal.SIGABRT)
    os.waitpid(pid, 0)
    return "hung"


def child_main(parent: Parent, *, quietly: bool) -> None:
    code = 3
    try:
        check_child(parent)
    except BaseException:
        traceback.print_exc()
        code = 4
    if quietly:
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def fork_elsewhere(parent: Parent) -> int:
    """Fork on a thread that is not the main one; the child exits without finalization of the interpreter."""
    pids: list[int] = []

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            child_main(parent, quietly=True)
        pids.append(pid)

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join(LIMIT)
    return pids[0]


def main(seed: int, count: int) -> None:
    random.seed(seed)
    parent = Parent()
    parent.start()
    wrong = []
    for number in range(count):
        parent.feed()
        time.sleep(random.random() * 0.003)  # the random moment
        way = random.choice(["leave", "leave", "quietly", "elsewhere"])
        if way == "elsewhere":
            pid = fork_elsewhere(parent)
        else:
            pid = os.fork()
            if pid == 0:
                child_main(parent, quietly=way == "quietly")
        if problem := reap(pid):
            wrong.append(f"fork {number} ({way}): {problem}")
    parent.finish()
    sys.stdout.write("\n".join([*wrong, f"{count} forks, {len(parent.futures)} results"]) + "\n")
    sys.exit(1 if wrong else 0)


main(int(sys.argv[1]), int(sys.argv[2]))
