"""When an event of torch passed: torch reports only the distance of two events, in float32 milliseconds.

So every second or so an anchor is recorded in a stream of its own, between two readings of the host's clock, and a time
is its distance from the newest anchor. One that is a second old costs 61 ns in float32; one of an hour ago, 250 us.
The clock that comes out counts from the first anchor, and is measured against the host's like that of any device.
"""

from __future__ import annotations

import math
import threading
import time

import torch

_TIMEOUT = 0.002  # seconds that a reading waits for its anchor; an idle stream passes one in microseconds


def float32_error_ns(milliseconds: float) -> int:
    """The rounding error of a float32 of this size, in ns."""
    if milliseconds == 0 or not math.isfinite(milliseconds):
        return 1
    return max(1, math.ceil(2.0 ** (math.frexp(milliseconds)[1] - 24) * 1e6))


class AnchoredClock:
    """The clock of one device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._lock = threading.Lock()  # guards all below
        self._stream: torch.Stream | None = None
        self._anchor: torch.Event | None = None
        self._anchor_ns = 0  # on this clock
        self._pending: tuple[int, torch.Event] | None = None  # when it was recorded, and the event

    def read(self) -> tuple[int, int, int] | None:
        """A new anchor between two readings of the host's clock; None: it has not passed yet, try again."""
        with self._lock:
            return self._read()

    def _read(self) -> tuple[int, int, int] | None:
        if self._pending is None:
            if self._stream is None:
                self._stream = torch.Stream(device=self._device)
            event = torch.Event(device=self._device, enable_timing=True)
            before = time.monotonic_ns()
            event.record(self._stream)
            self._pending = before, event
        before, event = self._pending
        deadline = time.monotonic() + _TIMEOUT
        while not event.query():
            if time.monotonic() > deadline:
                return None
            time.sleep(10e-6)
        after = time.monotonic_ns()
        self._pending = None
        apart = self._anchor.elapsed_time(event) if self._anchor is not None else 0.0
        self._anchor, self._anchor_ns = event, self._anchor_ns + round(apart * 1e6)
        error = float32_error_ns(apart)
        return before - error, self._anchor_ns, after + error

    def time_of(self, event: torch.Event) -> int:
        """When a complete event passed, in ns on this clock."""
        with self._lock:
            while self._anchor is None:
                self._read()
            return self._anchor_ns + round(self._anchor.elapsed_time(event) * 1e6) or 1
