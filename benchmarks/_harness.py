"""What every benchmark shares: a *round* is one number, ours and the peer's rounds alternate, a *row* is one answer.

A benchmark file has `rows(options)`, which yields a Row for each line of the table. Most call `compare`.
"""

from __future__ import annotations

import gc
import os
import statistics
import threading
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Round = Callable[[], float]
"""Measures once and gives the cost of one operation, in the row's unit (nanoseconds unless said otherwise)."""


@dataclass(frozen=True)
class Missing:
    """Replaces the Round of a peer that cannot be installed or run here; the row shows the reason."""

    reason: str


@dataclass(frozen=True)
class Options:
    rounds: int = 15
    quick: bool = False

    def number(self, n: int) -> int:
        """How often to repeat inside one round: n, or a tenth of it for a quick look."""
        return max(1, n // 10) if self.quick else n


@dataclass(frozen=True)
class Row:
    """One line of the table. `bar` is the largest ours/peer ratio allowed, or words when `verdict` answers instead."""

    what: str
    against: str = "-"
    ours: tuple[float, ...] = ()
    peer: tuple[float, ...] = ()
    unit: str = "ns"
    bar: float | str | None = None
    verdict: bool | None = None
    problem: str | None = None  # why there is no answer; never counted as met
    note: str | None = None
    evidence: tuple[str, ...] = ()  # lines printed below the table

    @property
    def ratios(self) -> tuple[float, ...]:
        """Ours over the peer's, round by round: the two were measured back to back, so a busy machine slows both."""
        if len(self.ours) != len(self.peer) or min(self.peer, default=0) <= 0:
            return ()
        return tuple(mine / theirs for mine, theirs in zip(self.ours, self.peer, strict=True))

    @property
    def ratio(self) -> float | None:
        """The median of the ratios."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def met(self) -> bool | None:
        """True or False where there is a bar and an answer; None where there is no bar or nothing could be measured."""
        if self.bar is None or self.problem is not None:
            return None
        if isinstance(self.bar, str):
            return self.verdict
        return None if self.ratio is None else self.ratio <= self.bar


def compare(
    what: str,
    against: str,
    ours: Round,
    peer: Round | Missing | None,
    options: Options,
    *,
    bar: float | None = None,
    unit: str = "ns",
    note: str | None = None,
) -> Row:
    """Alternate rounds of ours and the peer's (and who goes first), the collector off, after a round to warm up."""
    mine: list[float] = []
    theirs: list[float] = []
    pair = [(ours, mine)]
    if peer is not None and not isinstance(peer, Missing):
        pair.append((peer, theirs))
    enabled = gc.isenabled()
    try:
        for turn in range(-1, options.rounds):
            for measure, samples in pair if turn % 2 else reversed(pair):
                gc.collect()
                gc.disable()
                value = measure()
                if turn >= 0:  # turn -1 warms up
                    samples.append(value)
    finally:
        if enabled:
            gc.enable()
    problem = f"peer not run: {peer.reason}" if isinstance(peer, Missing) else None
    return Row(what, against, tuple(mine), tuple(theirs), unit, bar, problem=problem, note=note)


def best(burst: Callable[[int], float], number: int) -> float:
    """The cost of one operation in the fastest of 20 bursts: what else the machine does can only make one slower."""
    size = max(1, number // 20)
    return min(burst(size) for _ in range(20)) / size


def statement(code: str, names: Mapping[str, Any], number: int) -> Round:
    """Time a statement of a few nanoseconds: an empty loop is timed beside it, in the same round, and subtracted."""
    timer = timeit.Timer(code, globals=dict(names))
    empty = timeit.Timer("pass")
    return lambda: (best(timer.timeit, number) - best(empty.timeit, number)) * 1e9


@contextmanager
def pinned() -> Iterator[None]:
    """Keep this thread, and threads it starts meanwhile, on one CPU: for questions with one running thread."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def hold(submit: Callable[[Callable[[], object]], object], gate: threading.Event) -> None:
    """Submit work that waits for the gate, and return when that work runs."""
    running = threading.Event()

    def wait_for_gate() -> None:
        running.set()
        gate.wait()

    submit(wait_for_gate)
    running.wait()
