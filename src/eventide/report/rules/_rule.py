"""What a finding is: a rule with a name, a condition, a sentence and a remedy, and the values that it found.

A rule is one function below the decorator `rule`; it yields a Match for each place where its condition holds.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eventide.errors import InternalError, UsageValueError
from eventide.report._gather import Report
from eventide.report.rules._template import fill, plain

# How sure a finding is: it follows from what is in the trace; from a conclusion that the trace supports and does not
# state, such as a hand-over between threads; or the trace does not hold it.
RECORDED, INFERRED, UNKNOWN = "recorded", "inferred", "unknown"
CONFIDENCES = (RECORDED, INFERRED, UNKNOWN)


@dataclass(frozen=True)
class Finding:
    """One sentence of a report with its rule. `share` is that of the wall time; `weight` orders findings."""

    rule: str
    confidence: str
    text: str
    share: float
    weight: float
    remedy: str | None = None
    place: tuple[int, int] | None = None  # the time that shows it, on the clock of the trace
    values: Mapping[str, Any] = field(default_factory=dict)  # those of the sentence; times in nanoseconds


@dataclass(frozen=True)
class Match:
    """Where the condition of a rule holds."""

    share: float
    values: Mapping[str, Any]
    weight: float | None = None  # None: the share
    place: tuple[int, int] | None = None
    confidence: str | None = None  # None: the first of the rule


@dataclass(frozen=True)
class Rule:
    """`says` and `remedy` are templates (`_template`). `unknowns`: listed under "Not known", not with the findings."""

    name: str
    condition: str
    says: str
    remedy: str | None
    confidences: tuple[str, ...]
    unknowns: bool
    find: Callable[[Report], Iterable[Match]]

    def findings(self, report: Report) -> list[Finding]:
        """What the rule says about a report."""
        return [self._finding(match) for match in self.find(report)]

    def _finding(self, match: Match) -> Finding:
        confidence = match.confidence or self.confidences[0]
        if confidence not in self.confidences:
            raise InternalError(f"rule {self.name} has no confidence {confidence!r}; it declares {self.confidences}")
        weight = match.share if match.weight is None else match.weight
        remedy = fill(self.remedy, match.values) or None if self.remedy else None
        text = fill(self.says, match.values)
        return Finding(self.name, confidence, text, match.share, weight, remedy, match.place, dict(match.values))


RULES: dict[str, Rule] = {}  # by name, in the order of their definition


def rule(
    name: str,
    *,
    condition: str,
    says: str,
    remedy: str | None = None,
    confidence: str | tuple[str, ...] = RECORDED,
    unknowns: bool = False,
) -> Callable[[Callable[[Report], Iterable[Match]]], Callable[[Report], Iterable[Match]]]:
    """Register the function below as a rule. The first of several confidences is that of a Match without one."""
    confidences = (confidence,) if isinstance(confidence, str) else confidence
    if name in RULES or not set(confidences) <= set(CONFIDENCES):
        raise InternalError(f"rule {name!r}: registered twice, or a confidence that is not one of {CONFIDENCES}")

    def register(find: Callable[[Report], Iterable[Match]]) -> Callable[[Report], Iterable[Match]]:
        RULES[name] = Rule(name, condition, says, remedy, confidences, unknowns, find)
        return find

    return register


def findings(report: Report) -> tuple[Finding, ...]:
    """What the rules found, most important first."""
    found = [finding for each in RULES.values() if not each.unknowns for finding in each.findings(report)]
    return tuple(sorted(found, key=lambda finding: -finding.weight))


def unknowns(report: Report) -> tuple[Finding, ...]:
    """What this trace cannot say, and what to record next time."""
    return tuple(finding for each in RULES.values() if each.unknowns for finding in each.findings(report))


def rule_named(name: str) -> Rule:
    """The rule; UsageValueError with the nearest names if there is none."""
    if name in RULES:
        return RULES[name]
    near = difflib.get_close_matches(name, RULES, 3) or list(RULES)
    raise UsageValueError(f"there is no rule {name!r}; did you mean {', '.join(near)}? (`eventide explain` lists all)")


def explain(each: Rule) -> dict[str, str]:
    """What is to be known about a rule, by heading."""
    where = 'under "Not known"' if each.unknowns else "among the findings"
    return {
        "When": each.condition,
        "It says": plain(each.says),
        "Remedy": plain(each.remedy) if each.remedy else "None is known.",
        "Confidence": f"{' or '.join(each.confidences)}; listed {where}.",
    }
