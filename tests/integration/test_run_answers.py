"""The summary and the report of a run have an answer for every program, also for one that fails or ends at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100
FAILS = "import sys\ndef divide(n):\n    return 1 / n\nif __name__ == '__main__':\n    divide(len(sys.argv) - 1)\n"


def eventide(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT, check=False)


def report(folder: Path) -> dict:
    return json.loads(eventide("report", "t.eventide", "--json", folder=folder).stdout)


@pytest.mark.parametrize("how", [["fails.py"], ["-m", "fails"]])
def test_the_first_finding_names_the_exception_that_ended_the_program(tmp_path, how: Sequence[str]):
    (tmp_path / "fails.py").write_text(FAILS)
    done = eventide("run", "-q", "-o", "t.eventide", *how, folder=tmp_path)
    assert done.returncode == 1
    found = report(tmp_path)["findings"][0]
    assert found["text"] == "ZeroDivisionError ended the program; divide raised it (fails.py:3)."


def test_an_exception_that_did_not_end_the_program_is_no_finding(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 0\n")  # pytest sets sys.last_value
    assert eventide("run", "-q", "-o", "t.eventide", "-m", "pytest", "-q", folder=tmp_path).returncode == 1
    assert "program-raised" not in [each["rule"] for each in report(tmp_path)["findings"]]
    (tmp_path / "exits.py").write_text("import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(3)\n")
    assert eventide("run", "-q", "-o", "t.eventide", "exits.py", folder=tmp_path).returncode == 3
    assert report(tmp_path)["findings"] == []


def test_a_run_without_samples_says_how_to_get_some_and_takes_as_long_as_the_program(tmp_path):
    (tmp_path / "ends.py").write_text("")
    done = eventide("run", "--sample", "2000", "-o", "t.eventide", "--json", "s.json", "ends.py", folder=tmp_path)
    assert done.returncode == 0
    found = report(tmp_path)
    assert [each["rule"] for each in found["not_known"]] == ["not-sampled"]
    assert "`eventide run --sample 200`" in found["not_known"][0]["text"]
    ended = json.loads((tmp_path / "s.json").read_text())["ended"]
    assert 0 < found["summary"]["wall"] < ended["seconds"] * 1e9


def test_the_summary_ends_with_commands_that_can_be_copied(tmp_path):
    folder = tmp_path / ("a folder " + "x" * 120)
    folder.mkdir()
    (folder / "ends.py").write_text("")
    err = eventide("run", "-o", str(folder / "t.eventide"), str(folder / "ends.py"), folder=tmp_path).stderr
    assert f"look closer:       eventide report '{folder}/t.eventide'\n" in err
    assert f"as a page:         eventide report '{folder}/t.eventide' -o '{folder}/t.html'\n" in err
    assert f"as a timeline:     eventide view '{folder}/t.eventide'\n" in err


SPINS = """
import threading, time

def spin():
    while time.process_time() < 0.6:
        sum(range(1000))

threads = [threading.Thread(target=spin) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="threads run at once without the GIL")
def test_threads_that_share_the_gil_do_not_run_longer_than_the_program(tmp_path):
    (tmp_path / "spins.py").write_text(SPINS)
    assert eventide("run", "-q", "-o", "t.eventide", "spins.py", folder=tmp_path).returncode == 0
    found = et.open_trace(tmp_path / "t.eventide").samples()
    spin = next(row for row in found.functions if row.function == "spin")
    assert 0 < spin.total_running < 1.3 * found.wall < spin.total  # three threads of a third each, rounded to tenths
