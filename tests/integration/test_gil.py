"""The GIL: blocked threads and native work do not hold it, and Python work releases it regularly."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import eventide as et
from tests.helpers import Background, Gate, blocked_in, patient_gil
from tests.integration.processes import say
from tests.integration.semaphores import SEM_POST, SEM_WAIT, Semaphore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 30.0  # seconds


@pytest.fixture
def streams() -> Iterator[list[et.Stream]]:
    made = [et.Stream("cpu") for _ in range(2)]
    yield made
    for stream in made:
        stream.close(LIMIT)


@pytest.mark.parametrize("what", ["event", "stream", "device", "future", "full stream"])
def test_two_blocked_threads_do_not_block_a_third(what: str) -> None:
    gate = Gate()
    with closing(et.Stream("cpu", max_pending=1)) as stream:
        future = gate.hold(stream)
        event = stream.record_event()
        queued = stream.submit(int)
        calls: dict[str, Callable[[], object]] = {
            "event": event.synchronize,
            "stream": stream.synchronize,
            "device": lambda: et.synchronize("cpu"),
            "future": queued.result,
            "full stream": lambda: stream.submit(int),
        }
        # With a patient GIL a call that kept it would keep it: `blocked_in` would not return before its end.
        blocked = [blocked_in(calls[what]), blocked_in(calls[what])]
        with patient_gil():
            progress = sum(1 for _ in range(100_000) if not blocked[0].ended and not blocked[1].ended)
        assert progress == 100_000
        gate.open()
        for call in blocked:
            call.result()
        future.result(LIMIT)


def test_a_sequence_of_c_callables_does_not_block_the_main_thread() -> None:
    """The main thread observes the work item by item; blocked, it would observe none and then all of it."""
    count = 1000
    gate = Gate()
    with closing(et.Stream("cpu")) as stream:
        gate.hold(stream)
        futures = [stream.submit(sum, range(20_000)) for _ in range(count)]
        done, turns, largest, longest = 0, 0, 0, 0.0
        gate.open()
        last = time.perf_counter()
        while done < count:
            before = done
            while done < count and futures[done].done():
                done += 1
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
            turns += done > before
            largest = max(largest, done - before)
    say(f"{turns} turns with progress, at most {largest} of {count} items in one, longest gap {longest * 1e3:.1f} ms")
    assert turns >= 10
    assert largest <= count // 2


def test_native_work_runs_while_the_main_thread_holds_the_gil(streams: list[et.Stream]) -> None:
    """Two streams, a marker, a wait between them, a hundred items: none of it needs the interpreter."""
    first, second = streams
    entered, gate, done = Semaphore(), Semaphore(), Semaphore()
    first.submit_native(SEM_POST, entered.address)
    first.submit_native(SEM_WAIT, gate.address)
    items = [first.submit_native(SEM_POST, done.address) for _ in range(99)]
    event = first.record_event()
    second.wait_event(event)
    items.append(second.submit_native(SEM_POST, done.address))
    assert entered.wait(LIMIT)
    with patient_gil():  # no other thread can take the GIL from this thread, which keeps it from here on
        gate.post()
        arrived = all(done.wait(LIMIT, with_gil=True) for _ in range(100))  # all() stops at the first that is late
    assert arrived
    assert [item.result(LIMIT) for item in items] == [None] * 100
    assert done.value == 0, "an item ran twice"


def test_native_work_runs_during_one_long_c_call(streams: list[et.Stream]) -> None:
    """As above with the interpreter's own code: sum() over a big range never releases the GIL."""
    stream = streams[0]
    entered, gate, done = Semaphore(), Semaphore(), Semaphore()
    stream.submit_native(SEM_POST, entered.address)
    stream.submit_native(SEM_WAIT, gate.address)
    stream.submit_native(SEM_POST, done.address)
    assert entered.wait(LIMIT)
    seen: list[int] = []
    with patient_gil():
        gate.post()
        for _ in range(40):  # some 10 ms each; one is enough unless the machine is busy
            sum(range(1_000_000))
            seen.append(done.value)
            if seen[-1]:
                break
    say(f"native work was done within {len(seen)} calls of sum()")
    assert seen[-1] == 1


def test_markers_of_python_work_are_published_item_by_item(streams: list[et.Stream]) -> None:
    """An item in the middle of a run is seen as done while a later one of the same run still works."""
    stream = streams[0]
    gate, inner = Gate(), Gate()
    held = gate.hold(stream)
    before = stream.submit(int)
    event = stream.record_event()
    later = stream.submit(inner)
    waiting = Background(lambda: event.synchronize(LIMIT))
    gate.open()
    waiting.result()
    assert before.done()
    assert event.query()
    assert not later.done()
    inner.open()
    later.result(LIMIT)
    held.result(LIMIT)


def test_python_work_and_the_main_thread_share_the_interpreter(streams: list[et.Stream]) -> None:
    """A loop in work yields to the main thread, as a thread would, and the other way round."""
    stop = threading.Event()
    beats = [0]

    def beat() -> None:
        while not stop.is_set():
            beats[0] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        future = streams[0].submit(beat)
        deadline = time.monotonic() + LIMIT
        seen = {beats[0]}
        while len(seen) < 20 and time.monotonic() < deadline:
            seen.add(beats[0])
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    future.result(LIMIT)
    assert len(seen) >= 20
