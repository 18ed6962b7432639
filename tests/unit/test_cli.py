"""The command line: exit codes, and errors in one line."""

import os
import re
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

import eventide as et
from eventide.cli import _main, _run_program, main
from eventide.report import Fitted


def test_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"eventide {et.__version__}\n"


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "demo" in out
    assert "devices" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmeo"], "eventide: No such command 'dmeo'"),
        (["demo", "--bogus"], "eventide: No such option"),
        (["demo", "--runs", "0"], "eventide: Invalid value for '--runs'"),
        (["demo", "--runs", "many"], "eventide: Invalid value for '--runs'"),
        (["demo", "--seed", "-1"], "eventide: Invalid value for '--seed'"),
        (["devices", "cpu"], "eventide: Got unexpected extra argument"),
    ],
)
def test_misuse_is_one_line_with_the_remedy_and_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.endswith("--help')\n")
    assert captured.err.count("\n") == 1


def test_a_missing_folder_is_reported_before_the_demo_runs(capsys):
    assert main(["demo", "-o", "no/such/folder"]) == 2
    assert capsys.readouterr().err.startswith("eventide: no/such/folder is not a directory; create it first")


def test_an_error_of_eventide_is_one_line_and_code_2(monkeypatch, capsys):
    def fail() -> list[et.Device]:
        raise et.DeviceError("cpu:0 is gone;\n  plug it in")

    monkeypatch.setattr(et, "devices", fail)
    assert main(["devices"]) == 2
    assert capsys.readouterr().err == "eventide: cpu:0 is gone; plug it in\n"


def test_an_unexpected_error_shows_its_traceback_and_asks_for_a_bug_report(monkeypatch, capsys):
    monkeypatch.setattr(et, "devices", lambda: 1 / 0)
    assert main(["devices"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.endswith("please report this with the lines above\n")


def test_ctrl_c_is_code_130(monkeypatch):
    def interrupt() -> list[et.Device]:
        raise KeyboardInterrupt

    monkeypatch.setattr(et, "devices", interrupt)
    assert main(["devices"]) == 130


def test_the_command_line_error_class_covers_all_errors_of_typer():
    assert _main._CommandLineError.__name__ == "ClickException"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("none", ()),
        ("modules", ("modules",)),
        ("shapes", ("ops", "shapes")),
        ("modules, flops", ("ops", "modules", "flops")),
    ],
)
def test_shapes_and_flops_of_torch_bring_its_operators_and_modules_do_not(given, wanted):
    assert _run_program.torch_parts(given) == wanted


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_number_keeps_its_unit_in_a_narrow_terminal(width):
    rows = [
        ["a name of thirty characters ...", "annotation", "12.3 ms", "1.23 s", "1,234", "99.9 us", "100 us", "101 us"]
    ]
    heads = ("Host code", "kind", "self", "total", "count", "min", "median", "max")
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(Fitted(heads, rows, 2))
    head, row, *rest = out.getvalue().splitlines()
    assert not rest
    assert len(row.rstrip()) <= width
    numbers = re.split(r" {2,}", row.strip())[2:]
    assert numbers == rows[0][2 : 2 + len(numbers)]
    assert "12.3 ms" in numbers
    assert len(numbers) >= {60: 2, 80: 4, 100: 6}[width]
    assert head.split()[:3] == ["Host", "code", "kind"]


def test_shell_completion_installs(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "eventide", "--install-completion", "bash"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    script = next(tmp_path.rglob("*.sh"))
    assert "_EVENTIDE_COMPLETE=complete_bash" in script.read_text()
    asked = {**environment, "_EVENTIDE_COMPLETE": "complete_bash", "COMP_WORDS": "eventide rep", "COMP_CWORD": "1"}
    found = subprocess.run(command[:3], env=asked, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["report"]
