"""Ways to hold a stream, so that what is queued behind stays pending until the check releases it.

Where streams really run at once: by work that blocks. Where work runs inside ``submit``: by a wait for a held stream of
the cpu. Where time is virtual and work runs inside host calls, on the caller's own thread: by work that lasts.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from typing import TYPE_CHECKING

from eventide.backends import Capabilities
from eventide.runtime import Device, Stream, work
from eventide.testing.conformance._expect import CheckSkippedError, expect

if TYPE_CHECKING:
    from collections.abc import Callable

LASTS = 1.0  # seconds of virtual time: a million host calls of a microsecond


class Hold:
    """A stream that runs nothing more until ``release``."""

    def __init__(self, release: Callable[[], object]) -> None:
        self._release = release

    def release(self) -> None:
        """Release the stream."""
        self._release()


class Gate:
    """Work that blocks until it is opened."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._entered = threading.Event()
        self._opened = threading.Event()

    def __call__(self) -> None:
        self._entered.set()
        self._opened.wait(4 * self._timeout)  # longer than any check, so a forgotten gate ends too

    def open(self) -> None:
        """Let the work end."""
        self._opened.set()

    def reached(self) -> None:
        """Wait until the work runs."""
        expect(self._entered.wait(self._timeout), "work that blocks was submitted to an idle stream and never ran")


def hold_by_work(stream: Stream, gate: Gate, behind: bool = False) -> Hold:
    """Submit work that blocks, and wait until it does, unless pending work is before it."""
    stream.submit(gate)
    if not behind:
        gate.reached()
    return Hold(gate.open)


def hold_by_cpu(stream: Stream, cpu: Stream, gate: Gate) -> Hold:
    """Let the stream wait for an event of a held stream of the cpu."""
    hold = hold_by_work(cpu, gate)
    stream.wait_event(cpu.record_event())
    return hold


def hold_by_duration(stream: Stream, seconds: float, timeout: float) -> Hold:
    """Submit work that lasts. It ends by itself; ``release`` lets the device's clock pass its end."""
    stream.submit(work(int, name="hold", duration=seconds))
    end = stream.record_event()
    return Hold(lambda: end.synchronize(timeout=timeout))


def way_to_hold(device: Device, capabilities: Capabilities) -> str:
    """'work', 'cpu' or 'duration'; raises what skips a check when there is none."""
    if not capabilities.deferred:
        if not capabilities.gate:
            raise CheckSkippedError("no 'gate': nothing holds a stream")
        return "cpu"
    if capabilities.concurrent:
        return "work"
    if _has_durations(str(device)):
        return "duration"
    raise CheckSkippedError("no 'concurrent', and declared durations have no effect: nothing holds a stream")


@functools.cache
def _has_durations(device: str) -> bool:
    with contextlib.closing(Stream(device)) as stream:
        stream.submit(work(int, name="lasts", duration=LASTS))
        for _ in range(20):
            if stream.query():
                return False
            time.sleep(0.001)
    return True
