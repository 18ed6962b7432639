"""Do time and memory of `sim` grow linearly with the work? 64 devices, up to a million work items.

The peer is sim itself with a hundredth (for memory, a tenth) of the items. *Queued*: work takes longer than the host
takes to submit it, so in the end most of it is queued and in memory: linear growth is a ratio of 1 between the costs of
one item. Python's collector is off; a row shows the same with it on, without a bar, since it walks all that is queued
again and again. *Flowing*: work is complete before the next comes, so nothing should be kept: less than a pointer
for each item more. Every tenth item waits for an event of the next device. Each size runs in a process of its own; time
is CPU time, for there is one running thread; memory is the peak above the start. Both include the core's part.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks._harness import Options, Row

DEVICES = 64
NAME = "bench_sim"
DURATIONS = {"queued": 1e-3, "flowing": 10e-6}  # seconds; a stream gets an item about every 140 us of the host's time
BAR = 1.3
POINTER = 8  # bytes


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    items: int
    seconds: float
    bytes: int

    @property
    def us_each(self) -> float:
        return self.seconds / self.items * 1e6

    @property
    def bytes_each(self) -> float:
        return self.bytes / self.items

    @property
    def text(self) -> str:
        total = f"{self.seconds:.2f} s and {self.bytes / 2**20:.1f} MiB"
        return f"{self.items:>9,} items: {total:>22}; {self.us_each:.1f} us and {self.bytes_each:.0f} B each"


def program(items: int, duration: float, collect: bool) -> Cost:
    """Submit it all and synchronize."""
    import eventide as et
    from eventide.backends import Sim

    if not collect:
        gc.disable()
    et.Device.register(Sim(devices=DEVICES), name=NAME)
    streams = [et.Stream(f"{NAME}:{index}") for index in range(DEVICES)]
    work = et.work(int, duration=duration)
    before, start = memory("VmRSS"), process_time()
    for number in range(items):
        stream = streams[number % DEVICES]
        if number % 10 == 0:
            stream.wait_event(streams[(number + 1) % DEVICES].record_event())
        stream.submit(work)
    et.synchronize(NAME)
    return Cost(items, process_time() - start, memory("VmHWM") - before)


def memory(what: str) -> int:
    """Bytes of this process, now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024


def measure(kind: str, items: int, collect: bool) -> Cost:
    command = [sys.executable, "-m", "benchmarks.bench_sim", kind, str(items), "collect" if collect else "off"]
    root = Path(__file__).resolve().parent.parent
    return Cost(**json.loads(subprocess.run(command, check=True, cwd=root, stdout=subprocess.PIPE).stdout))


def each(costs: Sequence[Cost], what: str) -> tuple[Any, ...]:
    return tuple(getattr(cost, what) for cost in costs)


def rows(options: Options) -> Iterator[Row]:
    sizes = [options.number(size) for size in (10_000, 100_000, 1_000_000)]
    small_name, middle_name, name = (f"{size:,} items" for size in sizes)
    for kind, collect in (("queued", False), ("queued", True), ("flowing", False)):
        turns = [[measure(kind, size, collect) for size in sizes] for _ in range(1 if options.quick else 3)]
        small, middle, large = zip(*turns, strict=True)
        what = f"sim, {DEVICES} devices, {name}, {kind}{', collector on' if collect else ''}"
        bar, evidence = None if collect else BAR, each(small + middle + large, "text")
        times = each(large, "us_each"), each(small, "us_each")
        yield Row(f"{what}: time of one", small_name, *times, "us", bar, evidence=evidence)
        if kind == "flowing":
            kept = tuple((b.bytes - a.bytes) / (b.items - a.items) for a, b in zip(middle, large, strict=True))
            verdict = max(kept) < POINTER
            yield Row(f"{what}: kept of one", "-", kept, (), "B", f"< {POINTER} B", verdict)
        elif not collect:
            memories = each(large, "bytes_each"), each(middle, "bytes_each")
            yield Row(f"{what}: memory of one", middle_name, *memories, "B", BAR)


if __name__ == "__main__":
    print(json.dumps(asdict(program(int(sys.argv[2]), DURATIONS[sys.argv[1]], sys.argv[3] == "collect"))))
