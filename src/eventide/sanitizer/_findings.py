"""Findings: the result of checking one run, trace or program, with its coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from eventide.sanitizer._finding import WASTE, Finding
from eventide.sanitizer._suppress import Suppression


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the program could be checked."""

    works: int = 0
    known: int = 0  # of them: with known accesses
    forgotten: int = 0  # freed ranges that were discarded because there were too many
    not_covered: tuple[str, ...] = ()  # what else the program accesses, which cannot be checked

    def __str__(self) -> str:
        if not self.works:
            return "no work was submitted"
        text = f"{self.known:,} of {self.works:,} work {'item' if self.works == 1 else 'items'} had known accesses"
        if self.forgotten:
            text += f"; {self.forgotten:,} freed ranges were discarded"
        return "; not covered: ".join((text, *self.not_covered))


HOST_MEMORY_OF_QUEUES = (
    "host reads and writes of the arrays that OpenCL queues copy, unless et.host_access declares them"
)
"""In ``Coverage.not_covered``: numpy reports no accesses."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that is not reported, and the suppression with the reason."""

    finding: Finding
    suppression: Suppression


@dataclass(frozen=True, slots=True)
class Findings(Sequence[Finding]):
    """A list of findings, what was suppressed, and the coverage."""

    found: tuple[Finding, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    suppressed: tuple[Suppressed, ...] = ()
    unused_suppressions: tuple[Suppression, ...] = ()
    stream_names: Mapping[Any, str] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found)

    @property
    def verdict(self) -> str:
        """``findings``, ``clean``, or ``not checkable``: no accesses were known, so nothing could be found."""
        if self.found:
            return "findings"
        return "clean" if self.coverage.known else "not checkable"

    @property
    def summary(self) -> str:
        """The verdict and its coverage in a line."""
        count = len(self.found)
        verdict = f"{count} {'finding' if count == 1 else 'findings'}" if count else self.verdict
        if self.suppressed:
            verdict += f" ({len(self.suppressed)} suppressed)"
        why = ""
        if self.verdict == "not checkable" and self.coverage.works:
            why = "; declare what work touches with et.work(reads=, writes=), or record torch's with --torch accesses"
        return f"{verdict}: {self.coverage}{why}"

    def of(self, *kinds: str) -> tuple[Finding, ...]:
        """The findings of some kinds."""
        return tuple(finding for finding in self.found if finding.kind in kinds)

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that are wrong, without those that are only wasteful."""
        return tuple(finding for finding in self.found if finding.kind not in WASTE)

    def __str__(self) -> str:
        from eventide.sanitizer.output._text import plain_text

        return plain_text(self)

    def __repr__(self) -> str:
        return f"<Findings: {self.summary}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the text of all findings."""
        from eventide._util.html_text import text

        return f"<pre>{text(self)}</pre>"


def judge(
    found: Sequence[Finding],
    coverage: Coverage,
    rules: Sequence[Suppression] = (),
    stream_names: Mapping[Any, str] | None = None,
) -> Findings:
    """Separate what is suppressed; the first rule that matches counts as used."""
    reported, suppressed = [], []
    used: set[int] = set()
    for finding in found:
        rule = next((i for i, rule in enumerate(rules) if rule.matches(finding)), None)
        if rule is None:
            reported.append(finding)
        else:
            used.add(rule)
            suppressed.append(Suppressed(finding, rules[rule]))
    unused = tuple(rule for i, rule in enumerate(rules) if i not in used)
    return Findings(tuple(reported), coverage, tuple(suppressed), unused, dict(stream_names or {}))
