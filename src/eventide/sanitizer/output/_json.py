"""Findings as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from eventide.sanitizer._finding import Access, Finding, Fix, Piece
from eventide.sanitizer._findings import Findings
from eventide.sanitizer.output import _words


def findings_to_json(findings: Findings) -> dict[str, Any]:
    """The verdict, its coverage, the findings, what was suppressed and which suppressions nothing fits."""
    coverage = findings.coverage
    return {
        "verdict": findings.verdict,
        "summary": findings.summary,
        "coverage": {
            "works": coverage.works,
            "known": coverage.known,
            "forgotten": coverage.forgotten,
            "not_covered": list(coverage.not_covered),
            "text": str(coverage),
        },
        "findings": [finding_to_json(finding, findings) for finding in findings.found],
        "suppressed": [
            {**finding_to_json(item.finding, findings), "reason": item.suppression.reason}
            for item in findings.suppressed
        ],
        "unused_suppressions": [
            {"conditions": rule.conditions, "reason": rule.reason, "source": rule.source}
            for rule in findings.unused_suppressions
        ],
    }


def finding_to_json(finding: Finding, findings: Findings) -> dict[str, Any]:
    """One finding; `message` and `fix.text` are the words that people read."""
    names = findings.stream_names
    return {
        "kind": finding.kind,
        "certainty": finding.certainty,
        "fingerprint": finding.fingerprint,
        "count": finding.count,
        "message": _words.headline(finding, names),
        "memory": "; ".join(_words.memory(finding)),
        "doubt": finding.doubt,
        "pieces": [asdict(piece) for piece in finding.pieces],
        "buffer": finding.buffer,
        "buffer_name": finding.buffer_name,
        "event": finding.event,
        "version": finding.version,
        "text": finding.text,
        "first": None if finding.first is None else _side(finding.first, names),
        "second": _side(finding.second, names),
        "fix": {
            "action": finding.fix.action,
            "text": _words.fix_text(finding, names),
            "recorded": finding.fix.recorded,
            "event": finding.fix.event,
            "version": finding.fix.version,
            "stream": finding.fix.stream,
        },
    }


def finding_from_json(item: dict[str, Any]) -> Finding:
    """The way back."""

    def side(value: dict[str, Any] | None) -> Access | None:
        if value is None:
            return None
        stack = tuple((frame["file"], frame["line"], frame["function"]) for frame in value["stack"])
        plain = ("what", "write", "work", "name", "stream", "thread", "address", "nbytes")
        return Access(**{key: value[key] for key in plain}, stack=stack)

    second = side(item["second"])
    assert second is not None  # noqa: S101 - every finding has one
    fix = {key: value for key, value in item["fix"].items() if key != "text"}
    plain = ("kind", "buffer", "buffer_name", "event", "version", "count", "text", "doubt")
    return Finding(
        certain=item["certainty"] == "certain",
        first=side(item["first"]),
        second=second,
        fix=Fix(**fix),
        pieces=tuple(Piece(**piece) for piece in item["pieces"]),
        **{key: item[key] for key in plain},
    )


def _side(access: Access, names: _words.StreamNames) -> dict[str, Any]:
    frame = _words.place(access)
    return {
        "what": access.what,
        "write": access.write,
        "work": access.work,
        "name": access.name,
        "stream": access.stream,
        "stream_name": names.get(access.stream, "") if access.stream is not None else "",
        "thread": access.thread,
        "address": access.address,
        "nbytes": access.nbytes,
        "place": None if frame is None else {"file": frame[0], "line": frame[1], "function": frame[2]},
        "stack": [{"file": file, "line": line, "function": function} for file, line, function in access.stack],
    }
