"""Accesses that are observed while work runs (as with torch) give the findings of accesses declared at submission.

The same random program is checked twice: once whole, once with work whose accesses are reported later, at any time at
which the work can run. The findings are compared with those of all timings, and no ordered pair is reported.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from eventide._native import Sanitizer
from eventide.sanitizer import Finding
from eventide.sanitizer.program._check import VERDICTS
from eventide.sanitizer.program._program import Step, parse
from eventide.sanitizer.program._queues import Queues
from eventide.sanitizer.program._walk import _Walker
from tests.property.stream_programs import Program, legal, random_program, smaller
from tests.reference import sanitizer_oracle
from tests.reference.sanitizer_oracle import Timings, queued, without_idle_waits

HELD_UP = {"wait_value", "signal_value", "collective"}
MEMORY = {"use-after-free", "race"}


class SeenLate(_Walker):
    """Walks a program whose work is observed when it runs: after its predecessors and before its successors."""

    def __init__(self, program: Program, seed: int, declared: float) -> None:
        parsed = parse(program)
        queues = Queues(parsed)
        assert queues.run()
        super().__init__(parsed, queues, False, {})
        self._random = random.Random(seed)
        self._declared = declared
        self._timings = Timings(without_idle_waits(program["ops"]), program.get("default_stream_blocks", []))
        self._unseen: list[Step] = []

    def walk(self) -> None:
        super().walk()
        while self._unseen:
            self._see(self._random.choice(self._unseen))

    def _ran(self, steps: list[Step]) -> None:
        (step,) = steps
        for work in list(self._unseen):
            known = not step.queued and self._timings.before(("X", work.number - 1), ("H", step.number - 1))
            # Its memory has a new owner: the owner of the bytes it touches cannot be determined.
            if known or step.op == "allocate" or self._random.random() < 0.2:
                self._see(work)
        super()._ran(steps)

    def _work(self, step: Step, at: dict[str, Any]) -> None:
        if self._random.random() < self._declared:
            super()._work(step, at)
            return
        self._engine.submit(self._stream(step.stream), [], [], False, **at)
        self._unseen.append(step)

    def _see(self, work: Step) -> None:
        """It runs, and so must have all that comes before it."""
        if work not in self._unseen:
            return
        for other in list(self._unseen):
            if other is not work and self._timings.before(("X", other.number - 1), ("X", work.number - 1)):
                self._see(other)
        self._unseen.remove(work)
        self._engine.work_access(self._stream(work.stream), work.reads, work.writes, **self._at(work))


def plain(seed: int) -> Program:
    """What runs live: nothing holds a queue up, and the host frees."""
    program = random_program(seed)
    ops = [op for op in program["ops"] if op["op"] not in HELD_UP]
    return program | {"ops": legal([_without_stream(op) if op["op"] == "free" else op for op in ops])}


def _without_stream(op: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in op.items() if key != "stream"}


def seen(program: Program, seed: int, declared: float) -> list[Finding]:
    walker = SeenLate(program, seed, declared)
    walker.walk()
    return walker.findings()


def words(findings: list[Finding]) -> set[str]:
    kinds = {finding.kind for finding in findings}
    found = {word for word in MEMORY if kinds & set(VERDICTS[word])}
    return found - {"race"} if "use-after-free" in found else found


def in_order(program: Program, finding: Finding) -> bool:
    """Whether the two sides of a race cannot meet."""
    assert finding.first is not None
    ops = without_idle_waits(program["ops"])
    timings = Timings(ops, program.get("default_stream_blocks", []))
    a, b = (("X" if queued(ops[n - 1]) else "H", n - 1) for n in (finding.first.work, finding.second.work))
    return timings.before(a, b) or timings.before(b, a)


def wrong(program: Program, seed: int, declared: float) -> bool:
    findings = seen(program, seed, declared)
    races = [finding for finding in findings if finding.kind == "race"]
    expected = sanitizer_oracle.verdicts(program) & MEMORY
    return words(findings) != expected or any(in_order(program, race) for race in races)


@pytest.mark.parametrize("declared", [0.0, 0.5])
def test_work_that_is_observed_late_has_the_findings_of_declared_work(declared: float) -> None:
    found = 0
    for seed in range(700):
        program = plain(seed)
        if wrong(program, seed, declared):
            least = smaller(program, lambda less, seed=seed: wrong(less, seed, declared))  # type: ignore[misc]
            pytest.fail(f"seed {seed}: {words(seen(least, seed, declared))} on {least}")
        found += bool(sanitizer_oracle.verdicts(program) & MEMORY)
    assert found > 150  # it tries both


def test_declared_work_does_not_hide_its_waits_from_work_that_is_observed_later() -> None:
    """The host writes while work runs that is not seen yet; work behind it was submitted, with its accesses, before."""
    engine, x = Sanitizer(), [(1 << 20, 64)]
    engine.submit(1, [], [], False, work=1)
    engine.host_access([], x, work=2)
    engine.submit(1, [], x, True, work=3)
    engine.work_access(1, x, [], work=1)
    assert [(f["kind"], f["first"]["work"], f["second"]["work"]) for f in engine.findings()] == [("race", 2, 1)]


def test_memory_held_by_record_stream_may_be_accessed_after_the_free() -> None:
    for held, kinds in ((True, []), (False, ["missing-record-stream"])):
        engine, x = Sanitizer(), [(1 << 20, 64)]
        engine.allocate(1 << 20, 64)
        engine.submit(1, [], [], False, work=1)
        if held:
            engine.record_stream(1 << 20, 1)
        engine.free(1 << 20)
        engine.work_access(1, x, [], work=1)
        assert [f["kind"] for f in engine.findings()] == kinds


def test_without_late_work_the_findings_are_those_of_check_program() -> None:
    for seed in range(200):
        program = plain(seed)
        assert words(seen(program, seed, declared=1.0)) == sanitizer_oracle.verdicts(program) & MEMORY
