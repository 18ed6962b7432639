"""How long does it take, and how much memory, to load a Kineto trace and break its time down? How does that grow?

Each round is a process of its own, since a peak of memory can be measured only once; importing is not counted.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._harness import Missing, Options, Round, Row, compare
from benchmarks._kineto_trace import write

OURS = """
import resource, sys, time
import pyarrow
import eventide as et
import eventide.trace.formats.chrome._reader
from eventide import analysis
pyarrow.array([0])  # imports pandas where there is one, as HTA has done by then
def work(path):
    return analysis.breakdown(et.open_trace(path)).devices
"""
HTA = """
import logging, os, resource, sys, time, warnings
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from hta.trace_analysis import TraceAnalysis
def work(path):
    analysis = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
    return analysis.get_temporal_breakdown(visualize=False)
"""
MEASURE = """
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
kept = work(sys.argv[1])
print(time.perf_counter() - begin, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
REAL = Path(__file__).resolve().parents[2] / "shared" / "traces" / "nvidia_compare_before.json.gz"


def rows(options: Options) -> Iterator[Row]:
    few = Options(rounds=min(options.rounds, 3 if options.quick else 5), quick=options.quick)
    hta = importlib.util.find_spec("hta") is not None
    with tempfile.TemporaryDirectory() as folder:
        count = options.number(200_000)
        traces = {f"{count // 1000} k events": write(Path(folder) / "trace.json.gz", count)}
        if REAL.exists():
            traces["a real one, 109 k events"] = REAL
        for what, path in traces.items():
            for place, (unit, quantity, bar) in enumerate((("s", "time", 1 / 10), ("MB", "peak memory", 1 / 3))):
                peer = child(HTA, path, place) if hta else Missing("HolisticTraceAnalysis is not installed")
                title = f"load + breakdown, {what}: {quantity}"
                yield compare(title, "HTA 0.5.0", child(OURS, path, place), peer, few, bar=bar, unit=unit)
        yield growth(Path(folder), options)


def child(code: str, path: Path, place: int) -> Round:
    """One number of a fresh process: 0 is seconds, 1 is megabytes beyond what the imports took."""

    def measure() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code + MEASURE, str(path)], check=True, capture_output=True, text=True
        )
        return float(done.stdout.split()[place])

    return measure


def growth(folder: Path, options: Options) -> Row:
    """Microseconds and bytes of memory for an event, from 10^4 to 10^7."""
    lines = []
    costs = []
    for power in (4, 5) if options.quick else (4, 5, 6, 7):
        path = write(folder / "growing.json", 10**power)
        done = subprocess.run(
            [sys.executable, "-c", OURS + MEASURE, str(path)], check=True, capture_output=True, text=True
        )
        seconds, megabytes = map(float, done.stdout.split())
        size = path.stat().st_size
        path.unlink()
        costs.append(seconds / 10**power * 1e6)
        lines.append(
            f"10^{power} events, {size / 1e6:,.0f} MB of JSON: {seconds:.2f} s, {costs[-1]:.2f} us an event, "
            f"{size / 1e6 / seconds:,.0f} MB/s, peak {megabytes:,.0f} MB ({megabytes * 1e6 / size:.2f} of the file)"
        )
    return Row(
        "load + breakdown, us an event, the largest against 10^5",
        "itself",
        (costs[-1],),
        (costs[1],),
        "us",
        bar=1.5,
        note="linear if about 1",
        evidence=tuple(lines),
    )
