"""Findings of the sanitizer: both accesses, the bytes, the missing edge as a drawing, and the fix."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.analysis import View
from eventide.sanitizer import Finding, Findings, findings_to_json, short_path

MOST = 200  # findings that a page shows
_FRAMES = 4


@dataclass(frozen=True)
class Missing:
    """An edge that the program lacks: from the end of one span to the start of another, by row of the trace."""

    finding: int  # 0 is the first
    one: int
    other: int


def missing_edges(findings: Findings, view: View) -> list[Missing]:
    """For each finding about two work items that have a span each: the edge between them."""
    span_of = {int(work): row for row, work in enumerate(view.trace.spans.column("work").to_pylist()) if work}
    found = []
    for number, finding in enumerate(findings.found[:MOST]):
        first, second = finding.first, finding.second
        if first is not None and first.work in span_of and second.work in span_of and finding.kind == "race":
            found.append(Missing(number, span_of[first.work], span_of[second.work]))
    return found


def race_section(findings: Findings, places: Mapping[int, tuple[int, int]] | None = None) -> str:
    """The verdict, then each finding; `places` has the time on the timeline of some, by number."""
    document = findings_to_json(findings)
    parts = [f'<p class="verdict {_style(findings)}">{text(findings.summary)}</p>']
    for number, (finding, item) in enumerate(zip(findings.found[:MOST], document["findings"], strict=False)):
        parts.append(_finding(number, finding, item, (places or {}).get(number)))
    if len(findings.found) > MOST:
        parts.append(f"<p>{len(findings.found) - MOST:,} more findings: eventide check --json lists all.</p>")
    parts += [
        f"<p>Suppressed: {text(item['message'])}, because {text(item['reason'])}</p>" for item in document["suppressed"]
    ]
    return f'<section id="races"><h2>Sanitizer</h2>{"".join(parts)}</section>'


def verdict_chip(findings: Findings | None) -> str:
    """The verdict as a word in the head of the page."""
    if findings is None:
        return ""
    word = f.count(len(findings.found), "finding") if findings.found else findings.verdict.replace("_", " ")
    return f'<span class="chip {_style(findings)}">{text(word)}</span>'


def _style(findings: Findings) -> str:
    return {"clean": "good", "findings": "bad"}.get(findings.verdict, "unsure")


def _finding(number: int, finding: Finding, item: Mapping[str, Any], place: tuple[int, int] | None) -> str:
    certainty = "" if finding.certain else "possible "
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    link = f' <a href="#v={place[0]},{place[1]}">Show on the timeline</a>' if place else ""
    title = f"{certainty}{finding.kind}{times}"
    rows = [("memory", _lines([item["memory"]]) if item["memory"] else "")]
    sides = [("first", item["first"]), ("second", item["second"])] if item["first"] else [("where", item["second"])]
    rows += [(label, _side(side)) for label, side in sides]
    rows += [("fix", f'<strong class="fix">{text(item["fix"]["text"])}</strong>' if item["fix"]["text"] else "")]
    rows += [("id", f"<code>{text(item['fingerprint'])}</code>")]
    listed = "".join(f"<dt>{label}</dt><dd>{content}</dd>" for label, content in rows if content)
    drawing = _drawing(finding, item) if item["first"] and finding.kind == "race" else ""
    heading = f'<span class="badge">{number + 1}</span>{text(title)}: {text(item["message"])}{link}'
    return f'<article class="race" id="race-{number + 1}"><h3>{heading}</h3>{drawing}<dl>{listed}</dl></article>'


def _lines(lines: Sequence[str]) -> str:
    return "<br>".join(text(line) for line in lines)


def _side(side: Mapping[str, Any]) -> str:
    """Who does what, and where in the code, with the line of source."""
    verb = ("writes" if side["write"] else "reads") if side["what"] in {"work", "host"} else side["what"]
    size = f" {side['nbytes']:,} bytes" if side["nbytes"] else ""
    parts = [text(f"{_who(side)} {verb}{size}")]
    frames = side["stack"]
    if side["place"] in frames:
        frames = frames[frames.index(side["place"]) :]
    elif side["place"]:
        frames = [side["place"]]
    for depth, frame in enumerate(frames[:_FRAMES]):
        parts.append(text(f"{short_path(frame['file'])}:{frame['line']} in {frame['function']}"))
        source = linecache.getline(frame["file"], frame["line"]).strip() if depth == 0 else ""
        if source:
            parts.append(f"<code>{text(source)}</code>")
    if not frames:
        parts.append("at an unknown place: the recording has no stacks")
    return "<br>".join(parts)


def _who(side: Mapping[str, Any]) -> str:
    if side["what"] == "work":
        name = side["name"] or f"work {side['work']}"
        return f"{name} on {_lane(side)}"
    return f"{side['name']} on {_lane(side)}" if side["name"] else _lane(side)


def _lane(side: Mapping[str, Any]) -> str:
    if side["stream"] is None:
        return f"the host (thread {side['thread']})" if side["thread"] else "the host"
    return f"stream {side['stream']}" + (f" ({side['stream_name']})" if side["stream_name"] else "")


def _drawing(finding: Finding, item: Mapping[str, Any]) -> str:
    """Two lanes in the order of submission, and the missing edge between them, dashed."""
    first, second = item["first"], item["second"]
    lanes = [_lane(first), _lane(second)]
    boxes = [_label(first, finding.first), _label(second, finding.second)]
    label = f"Missing edge: nothing orders {boxes[1]} on {lanes[1]} after {boxes[0]} on {lanes[0]}"
    return (
        f'<svg class="missing" role="img" aria-label="{text(label)}" viewBox="0 0 640 96" width="640" height="96">'
        f'<line class="lane" x1="0" x2="640" y1="30" y2="30"/><line class="lane" x1="0" x2="640" y1="78" y2="78"/>'
        f'<text x="4" y="14">{text(lanes[0][:60])}</text><text x="4" y="62">{text(lanes[1][:60])}</text>'
        f'<rect x="150" y="19" width="190" height="22"/><rect x="400" y="67" width="190" height="22"/>'
        f'<text class="box" x="158" y="34">{text(boxes[0][:28])}</text>'
        f'<text class="box" x="408" y="82">{text(boxes[1][:28])}</text>'
        '<path class="edge" d="M340 30 C 390 30, 350 78, 394 78"/><path class="head" d="M400 78 l -8 -4 v 8 z"/>'
        '<text class="edge" x="396" y="46">missing</text></svg>'
    )


def _label(side: Mapping[str, Any], access: Any) -> str:
    verb = "writes" if access.write else "reads"
    return f"{side['name'] or side['what']} {verb}"
