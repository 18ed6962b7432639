"""The usual command lines of `eventide run` are parsed without typer, with the same result."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import typer

from eventide.cli._app import app
from eventide.cli._quick import parsed
from eventide.cli._run_program import run_program
from eventide.cli.commands import _run  # noqa: F401 - attaches the command

USUAL = [
    ["p.py"],
    ["-q", "p.py", "-q", "--x=1"],
    ["--quiet", "--ring", "--open", "-m", "json.tool", "-h", "a"],
    ["-o", "t.pftrace", "--sample", "2.5", "--seconds", "3", "p.py"],
    ["--output", "t.eventide", "--children", "no", "--report", "r.html", "--json", "3", "p.py", "--help"],
]
LEFT = [
    [],
    ["-q"],
    ["--help"],
    ["-m"],
    ["-qo", "t", "p.py"],
    ["--torch", "none", "p.py"],
    ["--pid", "1"],
    ["--output=t.eventide", "p.py"],
    ["--sample", "-1", "p.py"],
    ["--sample", "often", "p.py"],
    ["--children", "perhaps", "p.py"],
    ["-o", "-q", "p.py"],
    ["--", "p.py"],
    ["p.py", "--", "x"],
    ["-m", "json.tool", "--", "x"],
    ["t.eventide", "-q"],
    [""],
]


def by_the_application(arguments):
    command = typer.main.get_command(app).commands["run"]
    values = command.make_context("run", list(arguments)).params
    program = list(values.pop("program") or ())
    assert values.pop("pid") is None
    return program, values


@pytest.mark.parametrize("arguments", USUAL, ids=" ".join)
def test_a_usual_command_line_is_that_of_the_application(arguments):
    program, options = parsed(["run", *arguments])
    bound = inspect.signature(run_program).bind(program, **options)
    bound.apply_defaults()
    wanted, values = by_the_application(arguments)
    found = {name: value for name, value in bound.arguments.items() if name != "program"}
    assert program == wanted
    assert found == {name: getattr(value, "value", value) for name, value in values.items()}


@pytest.mark.parametrize("arguments", LEFT, ids=" ".join)
def test_the_application_parses_what_needs_an_explanation(arguments):
    assert parsed(["run", *arguments]) is None


@pytest.mark.parametrize("arguments", [["report", "p.py"], ["check", "p.py"], []], ids=" ".join)
def test_other_commands_are_the_applications(arguments):
    assert parsed(arguments) is None


def test_completion_of_a_shell_is_the_applications(monkeypatch):
    monkeypatch.setenv("_EVENTIDE_COMPLETE", "complete_bash")
    assert parsed(["run", "p.py"]) is None


def test_a_quiet_run_imports_neither_typer_nor_rich_nor_arrow(tmp_path):
    (tmp_path / "p.py").write_text("")
    code = (
        "import sys; from eventide.cli import main; code = main(['run', '-q', 'p.py']); "
        "print(code, sorted({'typer', 'rich', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0 []\n", "")


def test_an_error_of_a_quiet_run_is_that_of_any_command(tmp_path):
    command = [sys.executable, "-m", "eventide", "run", "-q", "missing.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "eventide: there is no file missing.py; check the path\n")
