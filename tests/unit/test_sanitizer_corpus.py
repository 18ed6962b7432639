"""Programs with known verdicts: the shared ones, our copy of them, and many more of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventide.sanitizer import check_program

HERE = Path(__file__).resolve().parents[1] / "corpus"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "stream_programs.json"


def programs(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))


OURS = [(path.stem, program) for path in sorted(HERE.glob("*.json")) for program in programs(path)]


@pytest.mark.parametrize(
    ("_", "program"), OURS, ids=[f"{stem}-{program['id']}-{program['title']}" for stem, program in OURS]
)
def test_the_verdict_is(_: str, program: dict[str, Any]) -> None:
    assert check_program(program) == program["verdict"]


def test_every_shared_program_has_its_verdict() -> None:
    if not SHARED.exists():
        pytest.skip("../shared/corpus is not there")
    wrong = [(p["id"], p["verdict"], got) for p in programs(SHARED) if (got := check_program(p)) != p["verdict"]]
    assert wrong == []
