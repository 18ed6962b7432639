"""`eventide trace what-if` and `best-edits`."""

from __future__ import annotations

import json

import pytest

import eventide as et
from eventide.cli import main
from tests.unit.test_what_if import program


@pytest.fixture
def path(tmp_path):
    return str(program().trace().save(tmp_path / "run.parquet"))


def test_what_if_prints_the_answer_and_writes_the_edited_trace(path, tmp_path, capsys):
    after = tmp_path / "after.pftrace"
    assert main(["trace", "what-if", path, "--scale", "gemm=0.5", "--drop-wait-of", "gemm", "-o", str(after)]) == 0
    out = capsys.readouterr().out
    assert "becomes" in out
    assert "edit: scale('gemm', 0.5): 6 changed" in out
    assert "edit: drop_wait('gemm'): 6 changed" in out
    assert et.open_trace(after).spans.num_rows == et.open_trace(path).spans.num_rows


def test_what_if_as_json(path, capsys):
    assert main(["trace", "what-if", path, "--faster-copies", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["low"] <= found["predicted"] <= found["high"]
    assert found["edits"] == ["faster_copies(2): 6 changed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no edit given; for example --scale 'gemm*=0.5'"),
        (["--scale", "gemm"], "--scale 'gemm' has no value; write it as PATTERN=VALUE"),
        (["--scale", "gemm=fast"], "--scale needs a number after =, not 'fast'"),
        (["--remove", "gemn"], "did you mean 'gemm'"),
    ],
)
def test_a_wrong_option_says_what_is_wrong(path, capsys, arguments, message):
    assert main(["trace", "what-if", path, *arguments]) != 0
    assert message in " ".join(capsys.readouterr().err.split())


def test_best_edits_prints_a_ranking(path, capsys):
    assert main(["trace", "best-edits", path, "-n", "2"]) == 0
    out = capsys.readouterr().out
    assert "the best of" in out
    assert "drop_sync" in out
