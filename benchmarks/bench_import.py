"""What does `import eventide` cost in a fresh process, beyond the interpreter's own start?"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks._harness import Options, Round, Row, compare

BAR_MS = 50


def rows(options: Options) -> Iterator[Row]:
    what = "import eventide, beyond the interpreter's start"
    row = compare(what, "import numpy", beyond("eventide"), beyond("numpy"), options, unit="ms")
    yield replace(row, bar=f"<= {BAR_MS} ms", verdict=statistics.median(row.ours) <= BAR_MS)
    what = "a process that imports eventide and ends"
    yield compare(what, "python -c pass", start("import eventide"), start(), options, unit="ms")


def start(code: str = "pass") -> Round:
    """Wall time of a whole process, from its start to its exit, in milliseconds."""

    def measure() -> float:
        begin = time.perf_counter_ns()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter_ns() - begin) / 1e6

    return measure


def beyond(module: str) -> Round:
    """The same, with a process that does nothing subtracted; it runs right before."""
    empty, importing = start(), start(f"import {module}")

    def measure() -> float:
        floor = empty()
        return max(importing() - floor, 0.0)

    return measure
