"""Runs programs that were not written for Eventide, alone and under `eventide run`, and writes docs/programs.md.

    python -m tests.programs                     # all: minutes
    python -m tests.programs threads JAX         # those whose names contain a word; the others keep their rows

Other tools run beside them where they are installed: py-spy, VizTracer, and torch.profiler around programs of torch.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.programs import framework_programs, other_tools, process_programs, python_programs
from tests.programs.program import Program, Ran, alone, recorded

_SHORT = 2.0  # seconds: a program that needs more runs once
PAGE = Path(__file__).resolve().parents[2] / "docs/programs.md"
PROGRAMS: list[Program] = [*python_programs.PROGRAMS, *process_programs.PROGRAMS, *framework_programs.PROGRAMS]
HEAD = """# Programs that were not written for Eventide

`python -m tests.programs` runs each program alone and under `eventide run`, and writes this page. "Same" is output,
errors and exit code, without times, ports, process ids and lines of Eventide ("eventide: ..."); "recorded" is what the
newest recording of the folder has, "first" the first finding of `eventide report`. A row is of the latest run of its
program; seconds are wall times on a machine with two cores, which was busy with other work, "CPU more" is what all its
processes used more than alone: both are the best of three runs, or of one if the program needs over two seconds alone.
Python is 3.11; the row of `--pid` is of 3.14 (Debian sid).

What differs: at a crash `faulthandler` lists all threads, and the sampler of Eventide is one.

| program | same | exit code | recorded | first | alone | recorded | CPU more |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
TOOLS = """
## Beside other tools

What each one has of the same programs: py-spy and VizTracer from their own files, torch.profiler around the whole
script. "-": it does not apply, or had no result.

| program | Eventide | py-spy | VizTracer | torch.profiler |
| --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Row:
    """What both runs of a program showed."""

    program: Program
    plain: Ran
    watched: Ran
    report: dict[str, Any] | None
    tools: dict[str, str]

    @property
    def differences(self) -> list[str]:
        """What of output, errors and exit code is not the same."""
        return [name for name in ("code", "out", "err") if getattr(self.plain, name) != getattr(self.watched, name)]


def measure(program: Program, *, tools: bool, runs: int = 1) -> Row:
    """Run a program alone and recorded, the last of several runs for its row, and, if compared, under other tools."""
    plain, watched = [], []
    for number in range(runs):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            plain.append(alone(program, Path(one)))
            watched.append(recorded(program, Path(two)))
            if number == runs - 1 or plain[0].seconds > _SHORT:
                found = other_tools.results(program) if tools and program.compared else {}
                return Row(program, _best(plain), _best(watched), report_of(Path(two)), found)
    raise AssertionError  # runs is positive


def _best(runs: list[Ran]) -> Ran:
    """The last run, with the least times of all."""
    return replace(runs[-1], seconds=min(run.seconds for run in runs), cpu=min(run.cpu for run in runs))


def report_of(folder: Path) -> dict[str, Any] | None:
    """The report of the newest recording in the folder, as data; None if it cannot be opened."""
    command = [sys.executable, "-m", "eventide", "report", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout.replace(f"{folder}/", ""))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def contents(report: dict[str, Any] | None) -> str:
    """What a recording has, in short."""
    if report is None:
        return "nothing"
    samples = report.get("samples") or {}
    found = {
        "spans": report.get("spans", 0),
        "samples": samples.get("count", 0),
        "threads": len(samples.get("threads", ())),
        "compiles": (report.get("compiles") or {}).get("count", 0),
        "steps": len(report.get("steps") or ()),
        "processes": len((report.get("processes") or {}).get("rows") or report.get("ranks") or ()),
    }
    parts = [f"{count:,} {name if count > 1 else _one(name)}" for name, count in found.items() if count]
    return ", ".join(parts) or "an empty recording"


def _one(name: str) -> str:
    return {"processes": "process"}.get(name, name.removesuffix("s"))


def first_finding(report: dict[str, Any] | None) -> str:
    """Its text, or what is not known; "-" without either."""
    found = [*((report or {}).get("findings") or []), *((report or {}).get("not_known") or [])]
    return str(found[0]["text"]) if found else "-"


def cell(text: str) -> str:
    """Text of a cell of Markdown: names between < > are not HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def line(row: Row) -> str:
    """The row of the table."""
    same = "yes" if not row.differences else f"no: {', '.join(row.differences)}"
    seconds = (f"{row.plain.seconds:.2f} s", f"{row.watched.seconds:.2f} s")
    times = (*seconds, f"{row.watched.cpu - row.plain.cpu:.2f} s")
    cells = (row.program.name, same, str(row.plain.code), contents(row.report), first_finding(row.report), *times)
    return f"| {' | '.join(map(cell, cells))} |\n"


def tools_line(row: Row) -> str:
    """The row of the second table."""
    cells = (row.program.name, contents(row.report), *(row.tools.get(tool, "-") for tool in other_tools.TOOLS))
    return f"| {' | '.join(map(cell, cells))} |\n"


def kept_rows(page: str) -> dict[str, str]:
    """The rows that a page has, by the name of the program."""
    lines = (line for line in page.splitlines(keepends=True) if line.startswith("| "))
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}


def write_page(rows: list[Row]) -> None:
    """Write the page; programs that did not run now keep their rows."""
    before = PAGE.read_text() if PAGE.exists() else ""
    one, _, two = before.partition("## Beside other tools")
    first = kept_rows(one) | {cell(row.program.name): line(row) for row in rows}
    second = kept_rows(two) | {cell(row.program.name): tools_line(row) for row in rows if row.program.compared}
    names = [cell(program.name) for program in PROGRAMS]
    without = [program for program in PROGRAMS if program.missing() and cell(program.name) not in first]
    missing = [f"{program.name} (needs {program.missing()})" for program in without]
    left_out = f"\nNot run on this machine: {', '.join(missing)}.\n" if missing else ""
    tables = ("".join(table[name] for name in names if name in table) for table in (first, second))
    PAGE.write_text(HEAD + next(tables) + left_out + TOOLS + next(tables))


def main(words: list[str]) -> int:
    """Measure the programs; the number of those that ran differently."""
    different = 0
    for program in PROGRAMS:
        chosen = not words or any(word.lower() in program.name.lower() for word in words)
        if not chosen or program.missing():
            continue
        row = measure(program, tools=True, runs=3)
        write_page([row])
        different += bool(row.differences)
        sys.stdout.write(line(row))
        sys.stdout.flush()
        for name in row.differences:
            sys.stdout.write(f"  alone: {getattr(row.plain, name)!r}\n  recorded: {getattr(row.watched, name)!r}\n")
    return different


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
