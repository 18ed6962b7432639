"""The clock model in plain Python: slow, exact, and short enough to verify by reading.

A sample (before, clock, after) says: the offset clock - host lies in [clock - after, clock - before].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

MAX_DRIFT = Fraction(1, 1000)
LEAST_WANDER = Fraction(2, 1_000_000)
SPACING = 500_000_000
BASELINE = 64


@dataclass
class Anchor:
    clock: int
    offset: int
    error: int


class ClockOracle:
    """Samples in, (host time, bound) out."""

    def __init__(self) -> None:
        self.anchors: list[Anchor] = []
        self.wander = LEAST_WANDER

    def add(self, before: int, clock: int, after: int) -> None:
        if after < before:
            return
        middle = before + (after - before) // 2
        fresh = Anchor(clock, clock - middle, (after - before) // 2 + 1)
        if not self.anchors:
            self.anchors = [fresh]
            return
        last = self.anchors[-1]
        if clock < last.clock:
            if middle > last.clock - last.offset:  # set back
                self.anchors = [fresh]
            return
        self.update(fresh)
        if len(self.anchors) > 1 and clock - self.anchors[-2].clock < SPACING:
            if fresh.error <= last.error:
                self.anchors[-1] = fresh
            return
        self.anchors.append(fresh)

    def update(self, fresh: Anchor) -> None:
        distance = fresh.clock - self.anchors[-1].clock
        if distance <= 0:
            return
        host, error = self.at(fresh.clock)
        beyond = abs(fresh.offset - (fresh.clock - host)) - error - fresh.error
        if beyond > 0:
            self.wander = min(MAX_DRIFT, self.wander + Fraction(beyond, distance))

    def stepped(self, a: Anchor, b: Anchor) -> bool:
        return abs(b.offset - a.offset) > MAX_DRIFT * (b.clock - a.clock) + a.error + b.error

    def rate(self, anchors: list[Anchor]) -> tuple[Fraction, Fraction]:
        """Drift and its error at the first of these, going inwards."""
        best = Fraction(0), MAX_DRIFT
        for a, b in list(pairwise(anchors))[:BASELINE]:
            if self.stepped(min(a, b, key=lambda x: x.clock), max(a, b, key=lambda x: x.clock)):
                break
            way = abs(b.clock - anchors[0].clock)
            error = Fraction(b.error + anchors[0].error, way) if way else MAX_DRIFT
            if error < best[1]:
                best = Fraction(b.offset - anchors[0].offset, b.clock - anchors[0].clock), error
        return best

    def at(self, clock: int) -> tuple[int, int]:
        first, last = self.anchors[0], self.anchors[-1]
        if clock >= last.clock:
            return self.beyond(self.anchors[::-1], clock)
        if clock <= first.clock:
            return self.beyond(self.anchors, clock)
        i = max(i for i, a in enumerate(self.anchors) if a.clock <= clock)
        a, b = self.anchors[i], self.anchors[i + 1]
        part = Fraction(clock - a.clock, b.clock - a.clock)
        offset = a.offset + round(part * (b.offset - a.offset))
        error = a.error * (1 - part) + b.error * part + self.wander * min(clock - a.clock, b.clock - clock)
        if self.stepped(a, b):
            error += abs(b.offset - a.offset)
        return clock - offset, round(error) + 1

    def beyond(self, anchors: list[Anchor], clock: int) -> tuple[int, int]:
        a = anchors[0]
        drift, error = self.rate(anchors)
        distance = clock - a.clock
        offset = a.offset + round(drift * distance)
        open_ = min(MAX_DRIFT + abs(drift), error + self.wander) * abs(distance)
        return clock - offset, a.error + round(open_) + 1
