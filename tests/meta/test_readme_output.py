"""What the README shows as the output of a command is what the command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eventide.cli import main
from tests.meta._project import ROOT

TRACES = ROOT.parent / "shared" / "traces"
NUMBER = re.compile(r"0x[0-9a-f]+|\d[\d,.]*")


def shown(command: str) -> list[str]:
    """The indented lines below `$ command`, without their indent."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(rf"^    \$ {re.escape(command)}\n((?:    .*\n|\n(?=    ))+)", text, re.MULTILINE)
    assert block is not None, command
    return [line[4:].rstrip() for line in block[1].splitlines()]


def plain(lines: list[str]) -> str:
    """Without figures, which differ from run to run, and with single spaces."""
    return " ".join(NUMBER.sub("#", " ".join(lines)).split())


def printed(*command: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize(
    "command",
    [
        "report nvidia_resnet50_loader0.json.gz",
        "trace compare nvidia_resnet50_loader0.json.gz nvidia_resnet50_loader4.json.gz",
    ],
)
def test_the_answers_about_a_real_trace(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not TRACES.is_dir():
        pytest.skip("needs the traces of ../shared")
    monkeypatch.setenv("COLUMNS", "100")
    words = [str(TRACES / word) if word.endswith(".gz") else word for word in command.split()]
    assert main(words) == 0
    whole = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
    parts = "\n".join(shown(f"eventide {command}")).split("\n...")
    assert len(parts[0].splitlines()) > 4
    for part in parts:
        assert part.strip() in whole


@pytest.mark.heavy
def test_the_race_of_the_demo() -> None:
    command = "check examples/prefetch.py --drop-wait"
    lines = printed("-m", "eventide", *command.split())
    found, readme = ([line for line in each if "comp>" not in line] for each in (lines, shown(f"eventide {command}")))
    assert plain(found) == plain(readme)


@pytest.mark.heavy
def test_the_recording_of_a_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    lines = printed("-m", "eventide", "run", "-o", str(tmp_path / "t.eventide"), "examples/train.py")
    readme = shown("eventide run examples/train.py")
    summary = ("loss", "eventide:", "spans", "imports:", "torch's operators:", "memory of the process, RSS")
    for beginning in (*summary, "written:", "look closer:", "as a page:", "as a timeline:", "a page next time:"):
        one, other = ([line for line in each if line.startswith(beginning)] for each in (lines, readme))
        assert [line.split()[0] for line in one] == [line.split()[0] for line in other] != []
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    for each in (lines, readme):
        assert any(line.startswith(loader) for line in each)
        assert any(line.startswith("Blurred.__getitem__") for line in each)
