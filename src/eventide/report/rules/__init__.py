"""What a report starts with: findings, each a rule with a name, a condition, a sentence and a remedy.

rule, Rule, Match, Finding    how a rule is written; the registry RULES            _rule
sentences with values         {idle:time} of {wall:time}                           _template
the file, idle devices, what devices and the host did, programs without devices,
the critical path, what is not known: the rules        _file _idle _device _host _program _path _unknown
what several rules ask                                                             _facts

A file of rules is imported here, which registers them. docs/rules.md has how one is added.
"""

from eventide.report.rules import _device, _file, _host, _idle, _path, _program, _unknown  # noqa: F401
from eventide.report.rules._rule import (
    CONFIDENCES,
    RULES,
    Finding,
    Match,
    Rule,
    explain,
    findings,
    rule,
    rule_named,
    unknowns,
)

__all__ = [
    "CONFIDENCES",
    "RULES",
    "Finding",
    "Match",
    "Rule",
    "explain",
    "findings",
    "rule",
    "rule_named",
    "unknowns",
]
