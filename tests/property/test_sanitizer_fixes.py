"""Applying the fix of a finding removes that finding and causes no deadlock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventide.sanitizer import Finding, check_program_findings
from tests.property.stream_programs import Program, random_held_up, random_program
from tests.reference.apply_fix import applied, identity, marked

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
WRONG = {"race", "use-after-free", "missing-record-stream"}
KNOWN = [program for path in sorted(CORPUS.glob("*.json")) for program in json.loads(path.read_text("utf-8"))]


def findings(program: Program) -> list[Finding]:
    return check_program_findings(program)


def follow_each(program: Program) -> None:
    """Each advice alone: its finding is gone, and there is no deadlock that was not there before."""
    program = marked(program)
    before = findings(program)
    for finding in before:
        if finding.fix.action in {"nothing", "record-before"}:
            continue
        better = applied(program, finding)
        after = findings(better)
        assert identity(program, finding) not in {identity(better, f) for f in after}, (finding, better)
        assert {f.kind for f in after} & {"deadlock"} <= {f.kind for f in before}, (finding, better)


def follow_all(program: Program) -> None:
    """One advice after the other, until nothing is wrong any more."""
    program = marked(program)
    for _ in range(30):
        wrong = [f for f in findings(program) if f.kind in WRONG]
        if not wrong:
            return
        program = applied(program, wrong[0])
    pytest.fail(f"the advice leads nowhere: {json.dumps(program)}")


@pytest.mark.parametrize("program", KNOWN, ids=[f"{n}-{p['title']}" for n, p in enumerate(KNOWN)])
def test_the_advice_helps_in_every_known_program(program: Program) -> None:
    follow_each(program)
    if program["verdict"] != "deadlock":
        follow_all(program)


def test_the_advice_helps_in_random_programs() -> None:
    for program in (draw(seed) for draw in (random_program, random_held_up) for seed in range(400)):
        follow_each(program)
        if "deadlock" not in {f.kind for f in findings(program)}:
            follow_all(program)


def test_a_race_whose_record_is_there_already_needs_only_the_wait() -> None:
    ops = [
        {"op": "work", "stream": 1, "writes": [{"buffer": "x", "from": 0, "to": 64}]},
        {"op": "record", "event": "e", "stream": 1},
        {"op": "work", "stream": 2, "reads": [{"buffer": "x", "from": 0, "to": 64}]},
    ]
    (race,) = findings({"ops": ops})
    assert (race.fix.action, race.fix.recorded, race.fix.event, race.fix.version) == ("wait", True, "e", 1)
    (race,) = findings({"ops": [ops[0], ops[2]]})
    assert (race.fix.action, race.fix.recorded, race.fix.stream) == ("wait", False, 1)
