"""What does it cost to open a recording, for each thing in it, and does that grow with their number?

Each figure is the whole way from the file to the seven tables, in wall time. The peers read the same events from files
that hold finished rows, so they have nothing to derive: `json.loads` of the Chrome file, pyarrow on the Parquet files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

import eventide as et
from benchmarks._harness import Options, Round, Row, compare

BUFFER = 1 << 28  # so that nothing is dropped while the drainer is slower than the loop

# The peak of an open trace beyond that of a small one, from a process that does nothing else.
# VmHWM and not ru_maxrss: that one begins with what the parent had.
MEMORY = """
import re, sys
import eventide as et
def peak(path):
    et.open_trace(path)
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
small = peak(sys.argv[1])
print(peak(sys.argv[2]) - small)
"""


def work(number: int) -> None:
    stream = et.Stream("cpu")
    for _ in range(number):
        stream.submit(int)
    stream.synchronize()


def spans(number: int) -> None:
    for _ in range(number):
        with et.span("span"):
            pass


def operations(number: int) -> None:
    first, second, event = et.Stream("cpu"), et.Stream("cpu"), et.Event("cpu")
    for _ in range(number // 2):
        event.record(first)
        second.wait_event(event)


KINDS: dict[str, Callable[[int], None]] = {"work item": work, "span": spans, "record or wait": operations}


def rows(options: Options) -> Iterator[Row]:
    sizes = [options.number(number) for number in (10_000, 100_000, 1_000_000)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, run in KINDS.items():
            files = [recorded(folder, what, run, size) for size in sizes]
            for file, size in zip(files, sizes, strict=True):
                yield compare(f"open {size:,}, each {what}", "-", opening(file, size), None, options, unit="us")
            large, small = opening(files[-1], sizes[-1]), opening(files[0], sizes[0])
            against = f"each of {sizes[0]:,}"
            yield compare(f"each {what} of {sizes[-1]:,}", against, large, small, options, bar=1.0, unit="us")
        yield from beside_finished_rows(folder, sizes[1], options)
        for size in sizes[:2]:
            yield compare(f"stop() after {size:,} work items, each", "-", stopping(size), None, options, unit="us")
        yield memory(folder, sizes)


def place(folder: Path, what: str, size: int) -> Path:
    return folder / f"{what}-{size}.eventide"


def recorded(folder: Path, what: str, run: Callable[[int], None], size: int) -> Path:
    file = place(folder, what, size)
    recorder = et.Recorder(file, buffer=BUFFER).start()
    run(size)
    recorder.close()
    return file


def opening(file: Path, size: int) -> Round:
    def measure() -> float:
        start = time.perf_counter()
        trace = et.open_trace(file)
        cost = (time.perf_counter() - start) / size * 1e6
        refuse_losses(trace)
        return cost

    return measure


def beside_finished_rows(folder: Path, size: int, options: Options) -> Iterator[Row]:
    file = place(folder, "work item", size)
    trace = et.open_trace(file)
    text, tables = trace.save(folder / "t.json"), trace.save(folder / "t.parquet")

    def parse() -> float:
        start = time.perf_counter()
        json.loads(text.read_bytes())
        return (time.perf_counter() - start) / size * 1e6

    def decode() -> float:
        start = time.perf_counter()
        for part in sorted(tables.glob("*.parquet")):
            pq.read_table(part)
        return (time.perf_counter() - start) / size * 1e6

    what = f"open {size:,} work items, each"
    yield compare(what, "json.loads, Chrome file", opening(file, size), parse, options, bar=1 / 5, unit="us")
    yield compare(what, "pyarrow, Parquet files", opening(file, size), decode, options, unit="us")


def stopping(size: int) -> Round:
    """stop() and the first look at the trace; the drainer has had the time of the loop."""

    def measure() -> float:
        recorder = et.Recorder().start()
        work(size)
        start = time.perf_counter()
        trace = recorder.stop()
        _ = trace.spans
        cost = (time.perf_counter() - start) / size * 1e6
        refuse_losses(trace)
        return cost

    return measure


def refuse_losses(trace: et.Trace) -> None:
    dropped = sum(trace.metadata["account"]["dropped"].values())
    if dropped:
        raise RuntimeError(f"{dropped} records were dropped: this would measure a smaller trace")


def memory(folder: Path, sizes: list[int]) -> Row:
    files = [str(place(folder, "work item", size)) for size in (sizes[0], sizes[-1])]
    ran = subprocess.run([sys.executable, "-c", MEMORY, *files], capture_output=True, text=True, check=True)
    each = int(ran.stdout) / (sizes[-1] - sizes[0])
    return Row(f"peak memory to open {sizes[-1]:,} work items, each", ours=(each,), unit="B")
