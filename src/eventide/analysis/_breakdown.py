"""Where each device's time went: computation, communication, copies, both at once, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._intervals import Shares, shares
from eventide.analysis._view import COMMUNICATION, COMPUTE, COPY, Step, View, steps_of, view_of
from eventide.trace import Trace

_WORDS = {COMPUTE: "compute", COMMUNICATION: "communication", COPY: "copy"}


@dataclass(frozen=True)
class Part:
    """One window of one device. The fields below `wall` are disjoint and sum to it; times are nanoseconds."""

    scope: str  # "whole", a step's name, or "outside steps"
    start: int
    wall: int
    compute: int  # computation, nothing else
    communication: int  # communication while nothing was computed
    copy: int
    overlap: dict[str, int]  # two or more at once, by "compute + communication"
    idle: int

    @property
    def busy(self) -> int:
        return self.wall - self.idle

    def any_of(self, kind: str) -> int:
        """Time with at least one `kind` running, alone or overlapped."""
        return int(getattr(self, kind)) + sum(
            time for kinds, time in self.overlap.items() if kind in kinds.split(" + ")
        )

    @property
    def hidden_communication(self) -> int:
        """Communication that ran while something else did."""
        return self.any_of("communication") - self.communication


@dataclass(frozen=True)
class DeviceBreakdown:
    """One device: the whole trace, then its steps, then what lies outside them."""

    device: str
    first: int  # when its first work started
    last: int  # when its last work ended
    whole: Part
    steps: tuple[Part, ...]

    @property
    def idle_between(self) -> int:
        """Idle time between its first and its last work."""
        return self.whole.idle - (self.whole.wall - (self.last - self.first))


@dataclass(frozen=True, repr=False)
class Breakdown(show.Result):
    """`devices` is empty where the trace has no work of any device: then nothing is known about one being idle."""

    start: int
    wall: int
    devices: tuple[DeviceBreakdown, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "device": show.text,
        "scope": show.text,
        "wall": show.time,
        "compute": show.time,
        "communication": show.time,
        "copy": show.time,
        "overlap": show.time,
        "idle": show.time,
    }
    _row: ClassVar[type] = Part
    _more: ClassVar[tuple[str, ...]] = ("device",)

    def _rows(self) -> list[dict[str, object]]:
        return [
            {"device": each.device, **vars(part), "overlap": sum(part.overlap.values())}
            for each in self.devices
            for part in (each.whole, *each.steps)
        ]

    def _heading(self) -> str:
        return f"{f.time(self.wall)}, {f.count(len(self.devices), 'device')}"


def breakdown(trace: Trace | View) -> Breakdown:
    """Split the time of each device; per device and step, and for the whole trace."""
    view = view_of(trace)
    start, end = view.window
    steps = steps_of(view)
    found = []
    for device, tracks in view.devices.items():
        rows = np.concatenate([view.work_by_track[track] for track in tracks])
        first, last = int(view.start[rows].min()), int(view.end[rows].max())
        masks = device_shares(view, tracks)
        whole = _parts(masks, [Step("whole", start, end)])[0]
        parts = _parts(masks, list(steps))
        if parts:
            parts.append(_outside(whole, parts))
        found.append(DeviceBreakdown(device, first, last, whole, tuple(parts)))
    return Breakdown(start, end - start, tuple(found))


def device_shares(view: View, tracks: list[int]) -> Shares:
    """Which kinds of work run on the device at each moment."""
    rows = np.concatenate([view.work_by_track[track] for track in tracks])
    bits = view.bits[rows]
    return shares({bit: (view.start[rows[bits == bit]], view.end[rows[bits == bit]]) for bit in _WORDS})


def _parts(masks: Shares, windows: list[Step]) -> list[Part]:
    start = np.array([window.start for window in windows], np.int64)
    end = np.array([window.end for window in windows], np.int64)
    times = {mask: time.tolist() for mask, time in masks.within(start, end).items()}
    return [_part(window, {mask: time[index] for mask, time in times.items()}) for index, window in enumerate(windows)]


def _part(window: Step, times: dict[int, int]) -> Part:
    alone = {word: times.get(bit, 0) for bit, word in _WORDS.items()}
    several = {
        " + ".join(word for bit, word in _WORDS.items() if mask & bit): time
        for mask, time in sorted(times.items())
        if time and mask not in _WORDS and mask
    }
    return Part(window.name, window.start, window.duration, **alone, overlap=several, idle=times.get(0, 0))


def _outside(whole: Part, parts: list[Part]) -> Part:
    """The whole less the steps."""

    def rest(field: str) -> int:
        return int(getattr(whole, field)) - sum(int(getattr(part, field)) for part in parts)

    overlap = {
        kinds: left
        for kinds, time in whole.overlap.items()
        if (left := time - sum(part.overlap.get(kinds, 0) for part in parts))
    }
    fields = {field: rest(field) for field in ("wall", *_WORDS.values(), "idle")}
    return Part("outside steps", whole.start, overlap=overlap, **fields)
