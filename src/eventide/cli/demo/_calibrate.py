"""Makes the two halves of the demo fit each other on this machine.

A network's width sets how long `train` takes. At 0.82 of the time of `load` there is something to gain from overlap,
and a missing wait is wrong in some runs and right in others. Where two streams do not get two cores, nothing is
gained by overlapping two computations; there the shards come over a rate-limited link instead, which needs no core.
"""

import os
import statistics
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import eventide as et
from eventide.cli.demo._program import Program, Shard

RATIO = 0.82  # time of train over time of load
ENOUGH_CORES = 1.2
_SLOWEST_LINK = 100e6  # bytes per second: a run takes a fifth of a second at most, however busy the machine is
_LATE_LINK = 20e6  # bytes per second: a shard takes ten times as long as a step
_PIECES = 16  # a link delivers a shard in so many pieces


@dataclass(frozen=True)
class Setup:
    """How the demo runs on this machine."""

    loader: str  # "zlib" or "link"
    why: str  # the reason for the link, or nothing
    width: int  # of the hidden layer
    ratio: float  # train : load, as measured
    shards: Sequence[Shard]
    options: dict[str, Any]  # for Program.run


def calibrate(program: Program, shards: Sequence[Shard]) -> Setup:
    """Choose width and loader."""
    sample = shards[-8:]  # of one size, the most frequent one
    width, ratio = _fit_width(program, sample)
    probe = [program.run(program.variants[1], shards, width=width).cores for _ in range(2)]
    if max(probe) >= ENOUGH_CORES:
        return Setup("zlib", "", width, ratio, shards, {"width": width})
    raw = [(zlib.decompress(packed), labels) for packed, labels in shards]
    _, step = _times(program, sample, width, time.perf_counter)
    rate = max(_SLOWEST_LINK, len(raw[-1][0]) * RATIO / step)
    why = f"{why_no_gain(max(probe))}; the shards come over a link of {rate / 1e6:.0f} MB/s instead"
    return Setup("link", why, width, step * rate / len(raw[-1][0]), raw, {"width": width, "fill": link(program, rate)})


def why_no_gain(cores: float) -> str:
    """Say why two computations do not overlap here."""
    usable = len(os.sched_getaffinity(0))
    if usable == 1:
        return "this process may use one core only, so inflating cannot overlap training"
    busy = "other programs or a CPU quota have the rest"
    return f"the two streams got {cores:.2f} of {usable} cores ({busy}), so inflating does not overlap training"


def link(program: Program, rate: float) -> et.Work[[bytes, Any], None]:
    """Make a loader that delivers raw bytes at `rate` bytes per second, sleeping in between."""
    np = program.module.np

    def deliver(raw: bytes, slot: Any) -> None:
        pixels, size = slot.reshape(-1), len(raw) // _PIECES
        due = time.perf_counter()
        for start in range(0, len(raw), size):
            piece = np.frombuffer(raw[start : start + size], np.uint8)
            due += piece.size / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            np.multiply(piece, np.float32(1 / 255), out=pixels[start : start + piece.size])

    return et.work(deliver, name="load", writes="slot")


def slow_loader(program: Program, shards: Sequence[Shard]) -> tuple[list[Shard], et.Work[[bytes, Any], None]]:
    """Shards and loader of a run in which every shard is late."""
    return [(zlib.decompress(packed), labels) for packed, labels in shards], link(program, _LATE_LINK)


def _fit_width(program: Program, sample: Sequence[Shard]) -> tuple[int, float]:
    """Find the width that gives RATIO; CPU time, so that other programs do not disturb it."""
    width = 88
    for _ in range(3):
        load, step = _times(program, sample, width, time.thread_time)
        width = min(512, max(16, round(width * RATIO / (step / load) / 4) * 4))
    load, step = _times(program, sample, width, time.thread_time)
    return width, step / load


def _times(program: Program, sample: Sequence[Shard], width: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Median seconds of one load and of one step, one after the other on this thread."""
    np, module = program.module.np, program.module
    w1, w2 = np.zeros((784, width), np.float32), np.zeros((width, 10), np.float32)
    slot = np.empty((max(len(labels) for _, labels in sample), 784), np.float32)
    loads, steps = [], []
    for packed, labels in sample:
        begin = clock()
        module.inflate(packed, slot[: len(labels)])
        middle = clock()
        module.step(slot[: len(labels)], labels, w1, w2)
        loads.append(middle - begin)
        steps.append(clock() - middle)
    return statistics.median(loads), statistics.median(steps)
