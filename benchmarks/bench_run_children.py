"""What does `eventide run` add to each child process of a program that starts many short ones?"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks._harness import Options, Round, Row, compare

PROGRAM = """
import os, subprocess, sys, time
how, count = sys.argv[1], int(sys.argv[2])
begin = time.perf_counter()
for _ in range(count):
    if how == "fork":
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    else:
        subprocess.run([sys.executable, "-c", "pass"] if how == "python" else ["true"])
print((time.perf_counter() - begin) / count * 1e3)
"""
HOW = {"fork": "forked", "python": "python -c pass", "true": "true, which is not recorded"}


def rows(options: Options) -> Iterator[Row]:
    count = str(options.number(1000))
    options = replace(options, rounds=1 if options.quick else 3)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "many.py"
        script.write_text(PROGRAM)
        run = ("-m", "eventide", "run", "-q", "-o", str(Path(folder) / "t.eventide"))
        for how, words in HOW.items():
            what = f"eventide run: one of {count} short children, {words}"
            ours, alone = timed(folder, *run, str(script), how, count), timed(folder, str(script), how, count)
            row = compare(what, "the same alone", ours, alone, options, unit="ms")
            yield replace(row, evidence=(f"{row.ours[0] - row.peer[0]:.1f} ms more each",))


def timed(folder: str, *command: str) -> Round:
    """What the program prints: milliseconds for one child."""

    def measure() -> float:
        shutil.rmtree(Path(folder) / "t-children", ignore_errors=True)
        done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True, cwd=folder)
        return float(done.stdout)

    return measure
