"""`eventide run` names its file with the date, and other commands open the newest recording by default."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import eventide as et
from eventide.cli import main
from eventide.run import reserve

DATED = re.compile(r"quick-\d{8}-\d{6}(_\d+)?\.eventide")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(path, name, age_seconds):
    with et.Recorder(path):
        et.instant(name)
    when = time.time() - age_seconds
    os.utime(path, (when, when))


def eventide(*arguments, cwd):
    command = [sys.executable, "-m", "eventide", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=100, check=False)


def test_the_file_of_a_run_has_the_date_and_the_time(folder):
    (folder / "quick.py").write_text("print('ran')")
    done = eventide("run", "-q", "quick.py", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    (made,) = folder.glob("*.eventide")
    assert DATED.fullmatch(made.name)
    assert et.open_trace(made).tracks.num_rows > 0


def test_two_runs_in_one_second_have_two_files(folder, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda _: "20261118-142501")
    names = [str(reserve("train")) for _ in range(3)]
    assert names == [f"train-20261118-142501{more}.eventide" for more in ("", "_2", "_3")]


def test_a_run_that_recorded_nothing_leaves_no_file(folder):
    (folder / "quick.py").write_text("")
    done = eventide("run", "--start-on", "USR1", "quick.py", cwd=folder)
    assert "nothing was recorded: SIGUSR1 was never received" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["quick.py"]


@pytest.mark.parametrize(
    "command",
    [
        ["report", "--json"],
        ["check", "--json", "--allow-unchecked"],
        ["trace", "summary", "--json"],
        ["trace", "lint", "--json"],
        ["trace", "recover", "--json"],
        ["trace", "sql", "select name from instants", "--json"],
        ["trace", "convert", "u.parquet", "--json"],
    ],
)
def test_without_a_trace_the_newest_recording_is_opened_and_named(folder, command, capsys):
    record(folder / "a.eventide", "new", 10)
    record(folder / "b.eventide", "old", 20)
    (folder / "empty.eventide").touch()
    assert main(command) == 0
    said = capsys.readouterr()
    assert said.err == "eventide: opening a.eventide, the newest recording in this folder\n"
    document = json.loads(said.out)
    if command[1] == "sql":
        assert document == [{"name": "new"}]


@pytest.mark.parametrize("command", [["report"], ["check"], ["trace", "idle"], ["trace", "sql", "select 1"]])
def test_without_any_recording_the_remedy_is_named(folder, command, capsys):
    assert main(command) == 2
    assert capsys.readouterr().err == (
        f"eventide: there is no .eventide file in {folder}; name a trace, or record one: eventide run script.py\n"
    )


def test_a_trace_without_a_query_is_not_taken_for_one(folder, capsys):
    record(folder / "a.eventide", "new", 0)
    assert main(["trace", "sql", "a.eventide"]) == 2
    assert capsys.readouterr().err == "eventide: the query is missing; use: eventide trace sql a.eventide QUERY\n"


WAITS = "import sys, time\nprint('ready', flush=True)\ntime.sleep(60)\n"


@pytest.mark.parametrize("command", [("run", "-q", "-o", "t.eventide"), ("check",)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_run_and_check_forward_signals_and_end_as_the_program_does(folder, command, number):
    (folder / "waits.py").write_text(WAITS)
    words = [sys.executable, "-m", "eventide", *command, "waits.py"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, text=True, cwd=folder, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.communicate(timeout=100)
    assert process.returncode == -number
