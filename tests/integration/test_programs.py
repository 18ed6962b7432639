"""Programs that were not written for Eventide run as alone; `python -m tests.programs` runs all, for the table."""

from __future__ import annotations

import pytest

from tests.programs.__main__ import PROGRAMS, contents, line, measure

pytestmark = pytest.mark.heavy
QUICK = ["timeit", "threads", "exit code 3", "an exception", "a kill (SIGKILL)", "C++ extension with spans"]
QUICK += ["a full disk", "a daemon, fork twice", "os.execv", "mpirun of two", "scikit-learn"]


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.name in QUICK], ids=lambda each: each.name)
def test_a_program_runs_as_alone_and_its_row_is_made(program):
    if missing := program.missing():
        pytest.skip(f"needs {missing}")
    row = measure(program, tools=False)
    assert row.differences == [], (row.plain, row.watched)
    assert line(row).startswith(f"| {program.name} | yes | {row.plain.code} | {contents(row.report)} |")


def test_a_row_counts_the_processes_of_the_run():
    row = measure(next(each for each in PROGRAMS if each.name == "a daemon, fork twice"), tools=False)
    assert len(row.report["processes"]["rows"]) == 3
    assert "3 processes" in contents(row.report)


def test_what_differs_is_named():
    row = measure(next(each for each in PROGRAMS if each.name == "exit code 3"), tools=False)
    changed = type(row)(row.program, row.plain, type(row.plain)(0, "x", row.plain.err, 1.0), None, {})
    assert changed.differences == ["code", "out"]
    assert "| no: code, out | 3 | nothing | - |" in line(changed)
