"""Do time and memory of `sim` grow linearly with the work? 64 devices, up to a million work items.

The peer is sim itself with a hundredth (for memory, a tenth) of the items: linear growth is a ratio of 1 between the
costs of one item. *Queued*: work takes longer than the host takes to submit it, so in the end most of it is queued and
in memory. *Flowing*: work is over before the next comes, so nothing should be kept. Every tenth item waits for an event
of the next device. Each size runs in a process of its own; memory is that process's peak above its start.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks._harness import Options, Row

DEVICES = 64
NAME = "bench_sim"
DURATIONS = {"queued": 1e-3, "flowing": 10e-6}  # seconds; a stream gets an item about every 140 us of the host's time
BAR = 1.3


def program(items: int, duration: float) -> dict[str, float]:
    """Submit and synchronize; gives the microseconds and the bytes that one item took."""
    import eventide as et
    from eventide.backends import Sim

    et.Device.register(Sim(devices=DEVICES), name=NAME)
    streams = [et.Stream(f"{NAME}:{index}") for index in range(DEVICES)]
    work = et.work(int, duration=duration)
    before, start = memory("VmRSS"), perf_counter()
    for number in range(items):
        stream = streams[number % DEVICES]
        if number % 10 == 0:
            stream.wait_event(streams[(number + 1) % DEVICES].record_event())
        stream.submit(work)
    et.synchronize(NAME)
    seconds = perf_counter() - start
    return {"items": items, "us": seconds / items * 1e6, "bytes": (memory("VmHWM") - before) / items}


def memory(what: str) -> int:
    """Bytes of this process, now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024


def measure(kind: str, items: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bench_sim", kind, str(items)]
    root = Path(__file__).resolve().parent.parent
    out = subprocess.run(command, check=True, cwd=root, stdout=subprocess.PIPE, text=True).stdout
    answer: dict[str, float] = json.loads(out)
    return answer


def line(run: dict[str, float]) -> str:
    items, us, size = run["items"], run["us"], run["bytes"]
    total = f"{us * items / 1e6:.2f} s and {size * items / 2**20:.1f} MiB"
    return f"{items:>9,} items: {total:>22}; {us:.1f} us and {size:.0f} B each"


def rows(options: Options) -> Iterator[Row]:
    sizes = [options.number(size) for size in (10_000, 100_000, 1_000_000)]
    names = [f"{size:,} items" for size in sizes]
    for kind in DURATIONS:
        runs: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
        for _ in range(1 if options.quick else 3):
            for size in sizes:
                runs[size].append(measure(kind, size))
        us = {size: tuple(run["us"] for run in runs[size]) for size in sizes}
        size_of = {size: tuple(run["bytes"] for run in runs[size]) for size in sizes}
        what = f"sim, {DEVICES} devices, {names[2]}, {kind}"
        lines = tuple(line(run) for size in sizes for run in runs[size])
        yield Row(f"{what}: time each", names[0], us[sizes[2]], us[sizes[0]], "us", BAR, evidence=lines)
        yield Row(f"{what}: memory each", names[1], size_of[sizes[2]], size_of[sizes[1]], "B", BAR)


if __name__ == "__main__":
    print(json.dumps(program(int(sys.argv[2]), DURATIONS[sys.argv[1]])))
