"""The same programs under py-spy, VizTracer and torch.profiler: what each has."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.programs.program import Program, run

# Runs a script as __main__ under torch.profiler and writes a Chrome trace.
PROFILED = """
import runpy, sys, torch
script, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = script
with torch.profiler.profile() as profile:
    runpy.run_path(script, run_name="__main__")
profile.export_chrome_trace("torch.json")
"""


def tool(name: str) -> str | None:
    """The command of this environment or of the system."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def py_spy(program: Program, folder: Path) -> str:
    """Its folded stacks: a count a line."""
    command = tool("py-spy")
    if command is None or program.launcher:
        return "-"
    record = [command, "record", "--subprocesses", "--idle", "--threads", "-f", "raw", "-o", "stacks.txt", "--"]
    run(program, [*record, sys.executable, *program.command], folder)
    written = folder / "stacks.txt"
    if not written.exists():
        return "-"
    lines = written.read_text(errors="replace").splitlines()
    samples = sum(int(line.rpartition(" ")[2]) for line in lines)
    processes = len({line.partition(";")[0] for line in lines if line.startswith("process ")})
    return f"{samples:,} samples" + (f", {processes} processes" if processes > 1 else "")


def viztracer(program: Program, folder: Path) -> str:
    """Its Chrome trace: an event a call."""
    if importlib.util.find_spec("viztracer") is None or program.launcher:
        return "-"
    record = [sys.executable, "-m", "viztracer", "-o", "viz.json", "--log_async", "--quiet"]
    module = program.command[0] == "-m"
    run(program, [*record, *(["--module"] if module else ["--"]), *program.command[module:]], folder)
    events = _events(folder / "viz.json")
    processes = len({event.get("pid") for event in events})
    return (f"{len(events):,} calls" + (f", {processes} processes" if processes > 1 else "")) if events else "-"


def torch_profiler(program: Program, folder: Path) -> str:
    """Its Chrome trace: operators and the like."""
    if not program.torch:
        return "-"
    (folder / "profiled.py").write_text(PROFILED)
    run(program, [sys.executable, "profiled.py", *program.command], folder)
    events = _events(folder / "torch.json")
    return f"{sum(event.get('cat') == 'cpu_op' for event in events):,} operators" if events else "-"


def _events(path: Path) -> list[dict[str, object]]:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return [event for event in document["traceEvents"] if event.get("ph") == "X"]


TOOLS: dict[str, Callable[[Program, Path], str]] = {
    "py-spy": py_spy,
    "VizTracer": viztracer,
    "torch.profiler": torch_profiler,
}


def results(program: Program) -> dict[str, str]:
    """By tool; "-" where it does not apply or has nothing."""
    found = {}
    for name, measure in TOOLS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[name] = measure(replace(program, sorted_output=False), Path(folder))
            except Exception as error:  # another tool's problem is its result
                found[name] = f"{type(error).__name__}"
    return found
