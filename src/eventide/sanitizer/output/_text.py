"""Findings as text: pieces with a style each, so that one description serves terminals, logs and exceptions."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path

from eventide.sanitizer._finding import Access, Finding
from eventide.sanitizer._findings import Findings
from eventide.sanitizer.output import _words

Piece = tuple[str, str]
"""(style of rich or nothing, text)"""

MOST_FRAMES = 4
"""Frames of a stack that are shown; the source line belongs to the first."""


def lines(findings: Findings) -> Iterator[list[Piece]]:
    """All findings and suppressions, line by line; the last line is the verdict with its coverage."""
    for number, finding in enumerate(findings.found, 1):
        yield from finding_lines(finding, findings, number)
        yield []
    for item in findings.suppressed:
        yield [("dim", f"suppressed: {_title(item.finding)}, because {item.suppression.reason}")]
    for rule in findings.unused_suppressions:
        source = f" ({rule.source})" if rule.source else ""
        yield [("yellow", f"unused suppression: {rule.conditions}{source}; it matches nothing, so remove it")]
    style = {"clean": "green", "findings": "red"}.get(findings.verdict, "yellow")
    yield [(f"bold {style}", findings.summary)]


def finding_lines(finding: Finding, findings: Findings, number: int = 1) -> Iterator[list[Piece]]:
    """One finding: what, both places, the fix."""
    names = findings.stream_names
    title: list[Piece] = [("dim", f"{number}. "), ("bold red", _title(finding)), ("", ": ")]
    yield [*title, ("", _words.headline(finding, names))]
    for place, memory in enumerate(_words.memory(finding)):
        yield [("dim", "           " if place else "   memory  "), ("", memory)]
    for label, side in (("first", finding.first), ("second", finding.second)):
        if side is not None:
            yield from _side(label if finding.first else "where", side, names)
    if fix := _words.fix_text(finding, names):
        yield [("dim", "   fix     "), ("green", fix)]
    if doubt := _words.doubt_text(finding, names):
        yield [("dim", "   doubt   "), ("", doubt)]
    yield [("dim", f"   id      {finding.fingerprint}")]


def _title(finding: Finding) -> str:
    possible = "" if finding.certain else "possible "
    times = "" if finding.count == 1 else f" ({finding.count:,} times)"
    return f"{possible}{finding.kind}{times}"


def _side(label: str, access: Access, names: _words.StreamNames) -> Iterator[list[Piece]]:
    yield [("dim", f"   {label:7} "), ("", _words.act(access, names))]
    frame = _words.place(access)
    if frame is None and access.stack_id:
        return  # a step of a program as data: its name is the place
    if frame is None:
        yield [("dim", "           at an unknown place: stacks were off")]
        return
    shown = access.stack.index(frame)
    frames = [one for one in access.stack[shown:] if one == frame or not _words.is_ours(one)]
    for file, line, function in frames[:MOST_FRAMES]:
        yield [("", "           "), ("cyan", f"{short_path(file)}:{line}"), ("dim", f" in {function}")]
        if (file, line, function) == frame and (source := linecache.getline(file, line).strip()):
            yield [("", f"             {source}")]


def short_path(file: str) -> str:
    """Relative to the current folder, if it is inside."""
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else file


def plain_text(findings: Findings) -> str:
    """All lines without styles."""
    return "\n".join("".join(text for _, text in line) for line in lines(findings))
