"""Random programs: the engine gives the verdict of trying every timing. No false positive, no false negative."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable

import pytest

from eventide.sanitizer import check_program_findings
from eventide.sanitizer.program._check import VERDICTS
from tests.property.stream_programs import Program, random_collectives, random_held_up, random_program, smaller
from tests.reference import sanitizer_oracle

# The same 500 in every `make test`; `make sanitizer-nightly` takes 20,000 others.
FIRST = int(os.environ.get("EVENTIDE_SANITIZER_SEED", "0"))
PROGRAMS = int(os.environ.get("EVENTIDE_SANITIZER_PROGRAMS", "500"))


def engine_verdicts(program: Program) -> set[str]:
    kinds = {finding.kind for finding in check_program_findings(program)}
    found = {word for word, of in VERDICTS.items() if kinds & set(of)}
    if "deadlock" in found:
        return {"deadlock"}
    return found - {"race"} if "use-after-free" in found else found


def differ(program: Program) -> bool:
    return engine_verdicts(program) != sanitizer_oracle.verdicts(program)


def compare(draw: Callable[[int], Program]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + PROGRAMS):
        program = draw(seed)
        expected = sanitizer_oracle.verdicts(program)
        seen.update(expected or {"ok"})
        if engine_verdicts(program) != expected:
            least = smaller(program, differ)
            message = f"seed {seed}: engine {engine_verdicts(least)}, oracle {sanitizer_oracle.verdicts(least)} on\n"
            pytest.fail(message + json.dumps(least))
    return seen


@pytest.mark.timeout(PROGRAMS)
def test_the_verdicts_are_those_of_all_timings() -> None:
    seen = compare(random_program)
    assert min(seen[word] for word in ("ok", *VERDICTS)) > PROGRAMS // 50, seen  # it tries all of them


@pytest.mark.timeout(PROGRAMS)
def test_the_verdicts_of_collectives_are_those_of_all_timings() -> None:
    seen = compare(random_collectives)
    assert min(seen[word] for word in ("ok", "deadlock", "race", "redundant-wait")) > PROGRAMS // 50, seen


@pytest.mark.timeout(PROGRAMS)
def test_the_verdicts_of_memory_in_queues_that_are_held_up_are_those_of_all_timings() -> None:
    seen = compare(random_held_up)
    assert min(seen[word] for word in ("ok", "deadlock", "use-after-free", "redundant-wait")) > PROGRAMS // 50, seen
