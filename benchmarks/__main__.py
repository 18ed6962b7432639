"""`python -m benchmarks [NAME ...]`: run the benchmark files, each in a process of its own, and print one table."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._harness import Row
from benchmarks._table import ratio_text, render

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
TIMEOUT = 900  # seconds for one file


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("bench_*.py"))


def choose(filters: Sequence[str]) -> list[str]:
    """The files whose name contains one of the filters; ValueError names a filter that fits none."""
    for word in filters:
        if not any(word in name for name in names()):
            raise ValueError(f"no benchmark named {word!r}; there are: {', '.join(names())}")
    return [name for name in names() if not filters or any(word in name for word in filters)]


def run(name: str, quick: bool) -> list[Row]:
    """One file's rows; a crash or a time-out is a row too."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "rows.jsonl")
        command = [sys.executable, "-m", "benchmarks._child", name, str(output), "quick" if quick else "full"]
        problem = None
        try:
            done = subprocess.run(
                command,
                cwd=HERE.parent,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                problem = f"could not run: exit code {done.returncode}: {last}"
        except subprocess.TimeoutExpired:
            problem = f"could not run: not finished after {TIMEOUT} s"
        rows = [_row(json.loads(line)) for line in output.read_text("utf-8").splitlines()] if output.exists() else []
    return [*rows, Row(name, problem=problem)] if problem else rows


def _row(fields: dict[str, Any]) -> Row:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Row(**values)


def machine() -> str:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {cpus} CPUs{load}"


def document(rows: Sequence[Row], before: str) -> dict[str, Any]:
    """What --json writes: every sample, so that anyone can take another statistic."""
    answers = [{**asdict(row), "ratio": row.ratio, "ratio_text": ratio_text(row.ratio), "met": row.met} for row in rows]
    return {"machine": before, "rows": answers}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios against named peers: one table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only files whose name contains it: fire, submit")
    parser.add_argument("--quick", action="store_true", help="few, short rounds: shows that it runs, not how fast")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write every sample to FILE")
    options = parser.parse_args(arguments)
    try:
        chosen = choose(options.names)
        if options.json is not None:  # a wrong path is found now, not after minutes
            options.json.touch()
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if importlib.util.find_spec("eventide") is None:
        parser.error("eventide is not installed in this environment; build it first")
    before = machine()
    rows: list[Row] = []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += run(name, options.quick)
    print(before)
    print(render(rows))
    if options.json is not None:
        options.json.write_text(json.dumps(document(rows, before), indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
