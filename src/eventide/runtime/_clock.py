"""Clocks: how clocks of devices, and other clocks of this machine, map to the trace's clock.

The trace's clock is CLOCK_MONOTONIC. A device that counts differently is measured against it: when its first stream is
created, about every second while it works, and on request. native/core/runtime/clock_model.hpp has the rules.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from eventide import _native
from eventide.errors import UsageValueError

__all__ = ["Clock", "HostClock", "clock_of", "device_clocks"]


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a device. ``offset_ns`` is its difference to CLOCK_MONOTONIC at the last anchor."""

    device: str
    name: str
    mapped: bool
    """Its times are measured and mapped; else they are used unchanged."""
    offset_ns: int
    drift: float
    """How much faster it runs, as a ratio: 5e-05 is 50 us a second."""
    error_ns: int
    """The accuracy of a current time; -1: unknown."""
    samples: int
    anchors: tuple[tuple[int, int, int], ...]
    """What was measured: (CLOCK_MONOTONIC ns, offset_ns, error_ns) each."""

    def as_dict(self) -> dict[str, Any]:
        """For the trace."""
        return asdict(self)


def clock_of(kind: str, index: int, name: str) -> Clock:
    """Measure the clock of a device."""
    state = _native.device_clock(kind, index, True)
    device = f"{kind}:{index}"
    if state is None:
        return Clock(device, name, False, 0, 0.0, 0 if name == "CLOCK_MONOTONIC" else -1, 0, ())
    return _clock(device, name, state)


def _clock(device: str, name: str, state: dict[str, Any]) -> Clock:
    anchors = tuple(state["anchors"])
    _, offset, error = anchors[-1] if anchors else (0, 0, -1)
    return Clock(device, name, bool(anchors), offset, state["drift"], error, state["samples"], anchors)


def device_clocks() -> list[dict[str, Any]]:
    """The clocks of all devices that are in use, for the trace: one dict each, as ``Clock.as_dict`` gives it."""
    found = []
    for kind, count in _native.device_types():
        for index in range(count):
            name = _native.device_capabilities(kind, index)["clock"]
            clock = clock_of(kind, index, name)
            if clock.mapped or name == "CLOCK_MONOTONIC":
                found.append(clock.as_dict())
    return found


class HostClock:
    """Another clock of this machine on the trace's axis. Unix time, as in profiles of torch and JAX: CLOCK_REALTIME."""

    def __init__(self, name: str = "CLOCK_REALTIME") -> None:
        number = getattr(time, name, None) if name.startswith("CLOCK_") else None
        if number is None:
            raise UsageValueError(f"there is no clock {name!r}; try 'CLOCK_REALTIME' or 'CLOCK_MONOTONIC_RAW'")
        self.name = name
        self._number: int = number
        self._model = _native.ClockModel()
        self.sample()

    def sample(self, tries: int = 8) -> None:
        """Measure it; call it at the start, at the end and from time to time between."""
        readings = []
        for _ in range(max(1, tries)):
            before = time.monotonic_ns()
            there = time.clock_gettime_ns(self._number)
            readings.append((before, there, time.monotonic_ns()))
        self._model.add(*min(readings, key=lambda reading: reading[2] - reading[0]))

    def to_trace(self, ns: int) -> int:
        """A time of this clock, on CLOCK_MONOTONIC."""
        return self._model.at(ns)[0]

    def error_ns(self, ns: int) -> int:
        """The maximum error of ``to_trace``."""
        return self._model.at(ns)[1]

    @property
    def clock(self) -> Clock:
        """What was measured."""
        return _clock("host", self.name, self._model.state())
