"""What does `eventide run` cost a torch training loop, whose operators take 50 us and more, while it runs?

A round is a process of its own; its figure is the first decile of the times of a step. The loop alone is compared with
`eventide run` with default options, sampled stacks included; the loop under torch.profiler, which has no samples, with
`--sample 0`. Operators are recorded as soon as they end; nothing is left to import at the end of the program.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import eventide as et
from benchmarks._harness import Missing, Options, Row, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP = str(Path(__file__).parent / "_torch_loop.py")


def rows(options: Options) -> Iterator[Row]:
    steps = str(options.number(60) + 4)
    options = replace(options, rounds=2 if options.quick else 9)
    what = "eventide run: a step of training"
    with tempfile.TemporaryDirectory() as folder:
        trace = str(Path(folder) / "t.eventide")
        run = ("-m", "eventide", "run", "--quiet", "-o", trace)
        alone, beside = Child(LOOP, steps), Child(LOOP, steps, "profiler")
        try:
            alone()
        except subprocess.CalledProcessError:
            missing = Missing("torch is not installed")
            yield compare(what, "the loop alone", lambda: 0.0, missing, options, bar=1.05)
            return
        ours = Child(*run, LOOP, steps)
        row = compare(what, "the loop alone", ours, alone, options, bar=1.05, unit="ms")
        yield replace(row, evidence=(cpu(ours, alone),))
        ours = Child(*run, "--sample", "0", LOOP, steps)
        row = compare(f"{what}, --sample 0", "torch.profiler", ours, beside, options, bar=1.02, unit="ms")
        account = et.open_trace(trace).metadata["torch"]
        line = f"{account['operators']} operators; harvest at exit: {account['harvest_ns'] / 1e6:.0f} ms"
        yield replace(row, evidence=(cpu(ours, beside), share(beside, alone), line))


class Child:
    """A program of Python that prints the time of a step, and its CPU time."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def __call__(self) -> float:
        done = subprocess.run([sys.executable, *self._command], check=True, capture_output=True, text=True)
        wall, cpu = map(float, done.stdout.split())
        self.wall.append(wall)
        self.cpu.append(cpu)
        return wall


def cpu(ours: Child, peer: Child) -> str:
    """CPU time, which depends less on other load than wall time."""
    mine, theirs = statistics.median(ours.cpu), statistics.median(peer.cpu)
    return f"CPU time of a step, all threads: {mine:.1f} ms against {theirs:.1f} ms, {mine / theirs:.3f}x"


def share(profiler: Child, alone: Child) -> str:
    """The cost of torch.profiler itself, which every user of Kineto pays."""
    theirs, none = statistics.median(profiler.wall), statistics.median(alone.wall)
    return f"torch.profiler itself: {theirs:.1f} ms against {none:.1f} ms for the loop alone, {theirs / none:.3f}x"
