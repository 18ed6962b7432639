"""Findings as SARIF 2.1.0: what code hosts and editors show beside the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from eventide.sanitizer._finding import KINDS, Access, Finding
from eventide.sanitizer._findings import Findings
from eventide.sanitizer.output import _words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_RULES = {
    "race": "Two accesses to the same memory, one of them a write, that nothing orders",
    "use-after-free": "Memory is used after it was given back",
    "missing-record-stream": "Memory is given back while a stream that was not recorded as its user still uses it",
    "wait-on-unrecorded": "A wait for an event that was never recorded",
    "redundant-wait": "A wait that changes no order",
    "redundant-sync": "A synchronization that changes no order",
    "deadlock": "Streams or host threads that wait for each other",
    "leak": "Memory or an event that is never given back",
}
_LEVELS = {"redundant-wait": "note", "redundant-sync": "note", "leak": "warning"}


def findings_to_sarif(findings: Findings, version: str) -> dict[str, Any]:
    """One run of the tool; suppressed findings are in it, marked with their reason."""
    results = [_result(finding, findings) for finding in findings.found]
    for item in findings.suppressed:
        result = _result(item.finding, findings)
        result["suppressions"] = [{"kind": "external", "justification": item.suppression.reason}]
        results.append(result)
    rules = [
        {"id": kind, "shortDescription": {"text": _RULES[kind]}, "defaultConfiguration": {"level": _level(kind)}}
        for kind in KINDS
    ]
    driver = {"name": "eventide", "version": version, "rules": rules}
    notes = [{"level": "note", "message": {"text": findings.summary}}]
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    run = {"tool": {"driver": driver}, "results": results, "invocations": [invocation]}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _level(kind: str) -> str:
    return _LEVELS.get(kind, "error")


def _result(finding: Finding, findings: Findings) -> dict[str, Any]:
    names = findings.stream_names
    fix = _words.fix_text(finding, names)
    text = _words.headline(finding, names) + (f". Fix: {fix}" if fix else "")
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": KINDS.index(finding.kind),
        "level": _level(finding.kind) if finding.certain else "warning",
        "message": {"text": text},
        "partialFingerprints": {"eventide/v1": finding.fingerprint},
        "occurrenceCount": finding.count,
        "locations": [_location(finding.second, names)] if finding.second.stack else [],
    }
    if finding.first is not None and finding.first.stack:
        result["relatedLocations"] = [{"id": 1, **_location(finding.first, names)}]
    stacks = [side for side in (finding.first, finding.second) if side is not None and side.stack]
    if stacks:
        result["stacks"] = [_stack(side, names) for side in stacks]
    return result


def _location(access: Access, names: _words.StreamNames) -> dict[str, Any]:
    file, line, function = _words.place(access) or ("", 1, "")
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": max(line, 1)}},
        "logicalLocations": [{"name": function}],
        "message": {"text": _words.act(access, names)},
    }


def _stack(access: Access, names: _words.StreamNames) -> dict[str, Any]:
    frames = [
        {
            "location": {
                "physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": max(line, 1)}},
                "logicalLocations": [{"name": function}],
            }
        }
        for file, line, function in access.stack
    ]
    return {"message": {"text": _words.act(access, names)}, "frames": frames}


def _uri(file: str) -> str:
    """Relative to here, so that it fits the checkout; else the whole path as a URI."""
    path = Path(file)
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
