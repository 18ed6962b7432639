"""What does `eventide run` add to a program that does nothing: its start, its end, and the summary?"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks._harness import Options, Round, Row, compare

BAR_MS = 250


def rows(options: Options) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "nothing.py"
        script.write_text("")
        run = ("-m", "eventide", "run", "-o", str(Path(folder) / "t.eventide"))
        what = "eventide run --quiet of an empty script"
        row = compare(what, "the script alone", timed(*run, "-q", str(script)), timed(str(script)), options, unit="ms")
        added = statistics.median(row.ours) - statistics.median(row.peer)
        yield replace(row, bar=f"adds <= {BAR_MS} ms", verdict=added <= BAR_MS, note=f"adds {added:.0f} ms")
        what = "the same, with its summary"
        yield compare(what, "without", timed(*run, str(script)), timed(*run, "-q", str(script)), options, unit="ms")


def timed(*command: str) -> Round:
    """Wall time of a whole process, from its start to its exit, in milliseconds."""

    def measure() -> float:
        begin = time.perf_counter_ns()
        subprocess.run([sys.executable, *command], check=True, stderr=subprocess.DEVNULL)
        return (time.perf_counter_ns() - begin) / 1e6

    return measure
