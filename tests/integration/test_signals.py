"""Ctrl-C interrupts every blocking call of the main thread, loses nothing, and the program continues."""

from __future__ import annotations

import json
import signal
import threading

import pytest

from tests.integration.processes import LIMIT, Child, Ended, say, start

CALLS = (
    "event.synchronize",
    "event.synchronize with a timeout",
    "stream.synchronize",
    "stream.synchronize of a waiting stream",
    "et.synchronize",
    "future.result",
    "future.exception",
    "stream.submit",
    "stream.copy",
    "stream.close",
    "pool.synchronize",
)
# The design says 100 ms. What is asserted is that the call did not wait for anything else: nothing but the signal
# could have ended it, and a busy machine may take long to let a thread run.
AT_MOST = 10_000.0  # milliseconds


def _latencies(child: Ended) -> list[float]:
    child.check(0)
    latencies: list[float] = json.loads(child.out.splitlines()[-1])
    say(f"{' '.join(child.arguments)}: {', '.join(f'{latency:.1f}' for latency in latencies)} ms")
    return latencies


@pytest.mark.parametrize("call", CALLS)
def test_a_signal_from_a_thread_of_the_process_interrupts(call: str) -> None:
    for latency in _latencies(start("interrupt", call, "inside").finish()):
        assert 0.0 <= latency < AT_MOST


@pytest.mark.parametrize("call", CALLS)
def test_a_signal_from_outside_interrupts(call: str) -> None:
    child = start("interrupt", call, "outside")
    watch = threading.Thread(target=_interrupt_whenever_it_blocks, args=(child,))
    watch.start()
    watch.join(LIMIT)
    for latency in _latencies(child.finish()):
        assert 0.0 <= latency < AT_MOST


def _interrupt_whenever_it_blocks(child: Child) -> None:
    """Until the last line, which is read by the caller: the child says so once for each round."""
    assert child.process.stdout is not None
    for _ in range(3):
        line = child.process.stdout.readline()
        if line != "BLOCKED\n":
            return
        child.process.send_signal(signal.SIGINT)
