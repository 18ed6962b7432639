"""The demo under the sanitizer: its findings in each variant, and in which runs."""

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eventide.cli._output import Step
from eventide.cli.demo._program import Program, Run
from eventide.sanitizer import Finding, Findings, fix_text, place, sanitize

Train = Callable[[str, int], Run]  # a variant and the number of a seed


@dataclass(frozen=True)
class Place:
    """One side of the race."""

    work: str
    verb: str  # reads or writes
    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Verdict:
    """The findings in the variant with the deleted wait, over all runs."""

    kind: str
    count: int  # how often, over all runs
    runs: int
    found: int  # runs in which it was found
    right: int  # of them: runs whose weights were right all the same
    slowed: int  # of these: runs with a loader so slow that it did no harm, made because no other was right
    first: Place
    second: Place
    fix: str
    others: str  # the summary of the other variants


def steps(runs: int) -> int:
    """How often `judge_variants` calls `step`."""
    return 3 + runs


def judge_variants(program: Program, train: Train, slowed: Train, truth: Sequence[Run], step: Step) -> Verdict:
    """Train each of the right variants once and the broken one with each seed, all under the sanitizer.

    If no broken run ended right, one more has a slow loader: the race exists, but does no harm this time.
    """
    serial, events, broken = program.variants
    with sanitize(suppress=()) as others:
        for variant in (serial, events):
            step(f"sanitizer: {variant}")
            train(variant, 0)
    reports: list[tuple[Findings, bool]] = []
    for number in range(len(truth)):
        step(f"sanitizer: {broken}")
        reports.append(_watch(train, broken, number, truth))
    step(f"sanitizer: {broken}")
    slow = [] if any(same for _, same in reports) else [_watch(slowed, broken, 0, truth)]
    reports += slow
    found = [(findings, same) for findings, same in reports if findings.of("race")]
    race, names = _merged([findings for findings, _ in found])
    return Verdict(
        kind=race.kind,
        count=race.count,
        runs=len(reports),
        found=len(found),
        right=sum(same for _, same in found),
        slowed=sum(bool(findings) and same for findings, same in slow),
        first=_place(program, race, first=True),
        second=_place(program, race, first=False),
        fix=fix_text(race, names),
        others=others.summary,
    )


def _watch(train: Train, variant: str, number: int, truth: Sequence[Run]) -> tuple[Findings, bool]:
    """One run: what was found, and whether the weights are those of the serial run."""
    with sanitize(suppress=()) as scope:
        digest = train(variant, number).digest
    return scope.result, digest == truth[number].digest


def _merged(reports: Sequence[Findings]) -> tuple[Finding, dict[int, str]]:
    """The race, counted over all runs; its numbers of streams and events are those of the last one."""
    race = reports[-1].of("race")[0]
    count = sum(one.count for findings in reports for one in findings.of("race"))
    return replace(race, count=count), dict(reports[-1].stream_names)


def _place(program: Program, race: Finding, *, first: bool) -> Place:
    side = race.first if first and race.first is not None else race.second
    file, line, _ = place(side) or (str(program.path), 1, "")
    code = linecache.getline(file, line).strip()
    return Place(side.name, "writes" if side.write else "reads", file, line, code)
