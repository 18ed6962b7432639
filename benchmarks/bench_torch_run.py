"""What does `eventide run` cost a torch training loop, whose operators take 50 us and more, while it runs?

A round is a process of its own, and its figure the step that nine of ten took longer than. The loop alone is compared
with `eventide run` as it comes, sampled stacks and all; the loop under torch.profiler, which has none, with it and
`--sample 0`. What torch held is harvested when the program ends: told below the table, and no part of the loop.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP = str(Path(__file__).parent / "_torch_loop.py")


def rows(options: Options) -> Iterator[Row]:
    steps = str(options.number(60) + 4)
    options = replace(options, rounds=2 if options.quick else 9)
    with tempfile.TemporaryDirectory() as folder:
        trace = str(Path(folder) / "t.eventide")
        run = ("-m", "eventide", "run", "--quiet", "-o", trace)
        alone, beside = child(LOOP, steps), child(LOOP, steps, "profiler")
        try:
            alone()
        except subprocess.CalledProcessError:
            reason = Missing("torch is not installed")
            yield compare("eventide run: a step of training", "the loop alone", lambda: 0.0, reason, options, bar=1.05)
            return
        what = "eventide run: a step of training"
        yield compare(what, "the loop alone", child(*run, LOOP, steps), alone, options, bar=1.05, unit="ms")
        ours = child(*run, "--sample", "0", LOOP, steps)
        row = compare(f"{what}, --sample 0", "torch.profiler", ours, beside, options, bar=1.02, unit="ms")
        told = et.open_trace(trace).metadata["torch"]
        line = f"harvest at exit: {told['harvest_ns'] / 1e6:.0f} ms for {told['operators']} operators"
        yield replace(row, evidence=(line,))


def child(*command: str) -> Round:
    """What a program of Python prints."""

    def measure() -> float:
        done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
        return float(done.stdout)

    return measure
