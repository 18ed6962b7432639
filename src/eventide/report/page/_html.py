"""The parts of the page that need no script: findings, bars and tables as plain HTML."""

from __future__ import annotations

from collections.abc import Sequence

from eventide._util import format as f
from eventide.analysis import Part
from eventide.report._findings import Finding, findings, unknowns
from eventide.report._gather import Report
from eventide.report._tables import Fitted, breakdown_table, host_table, name_table, path_table
from eventide.report.page._escape import text

_ROWS = 200
_KEYS = {
    "w s": "zoom in and out", "a d": "move left and right", "f F": "fit the selected span, fit everything",
    "/": "search; Enter or n for the next match, N for the one before", "m": "set a mark",
    ". ,": "next and previous span of the lane", "[ ]": "to the cause and to the effect of the selected span",
    "arrows": "along the lane and between lanes", "Enter": "details of the selected span",
    "Esc": "clear", "?": "this list", "Ctrl + wheel": "zoom",
    "drag": "move; on the ruler or with Shift: select a time range",
}  # fmt: skip


def header(report: Report) -> str:
    """What is missing or not known."""
    notes = "".join(f'<p class="warning">{text(note)}</p>' for note in unknowns(report))
    return f"<section>{notes}</section>" if notes else ""


def finding_list(report: Report) -> str:
    items = "".join(_finding(each, report.idle.start) for each in findings(report))
    return f'<section id="findings"><h2>Findings</h2><ol class="findings">{items}</ol></section>'


def _finding(finding: Finding, origin: int) -> str:
    """The sentence, a link to its place on the timeline, and what to do."""
    link = ""
    if finding.place is not None:
        start, end = finding.place
        margin = max((end - start) // 4, 1)
        link = f' <a href="#v={start - margin - origin},{end + margin - origin}">Show on the timeline</a>'
    todo = f'<span class="todo">{text(finding.todo)}</span>' if finding.todo else ""
    return f"<li>{text(finding.text)}{link}{todo}</li>"


def bars(report: Report) -> str:
    """One bar a device: its parts sum to the whole."""
    rows = []
    for device in report.breakdown.devices:
        lane = next((each for each in report.idle.lanes if each.device == device.device and each.stream is None), None)
        unknown = lane.causes.get("unknown", 0) if lane is not None else 0
        rows.append(f"<h3>{text(device.device)}</h3>{_bar(device.whole, unknown)}")
    return f'<section id="breakdown"><h2>Where the time went</h2>{"".join(rows)}</section>' if rows else ""


def _bar(part: Part, unknown: int) -> str:
    """SVG, since its attributes need no inline style."""
    unknown = min(unknown, part.idle)
    parts = {
        "compute": part.compute, "communication": part.communication, "copy": part.copy,
        "overlap": sum(part.overlap.values()), "idle": part.idle - unknown, "idle, cause unknown": unknown,
    }  # fmt: skip
    cells, at = [], 0.0
    for name, time in parts.items():
        if time <= 0 or part.wall <= 0:
            continue
        share = 100 * time / part.wall
        label = f"{name} {f.percent(time, part.wall)}"
        kind = name.rpartition(" ")[2]
        shown = f'<text x="{at + 0.4:.3f}%" y="17">{text(label)}</text>' if share > 6 else ""
        cells.append(
            f"<g><title>{text(f'{label} ({f.time(time)})')}</title>"
            f'<rect class="{kind}" x="{at:.3f}%" width="{share:.3f}%" height="26"/>{shown}</g>'
        )
        at += share
    whole = ", ".join(f"{name} {f.percent(time, part.wall)}" for name, time in parts.items() if time > 0)
    return f'<svg class="bar" role="img" aria-label="{text(whole)}" width="100%" height="26">{"".join(cells)}</svg>'


def step_bars(report: Report) -> str:
    if len(report.steps) < 2:
        return ""
    steps = report.steps[:2000]
    longest = max(step.duration for step in steps)
    width = 100 / len(steps)
    low = report.idle.start
    names = [text(f"{step.name}: {f.time(step.duration)}") for step in steps]
    cells = "".join(
        f'<a href="#v={step.start - low},{step.end - low}" aria-label="{names[number]}"><title>{names[number]}</title>'
        f'<rect x="{number * width:.3f}%" width="{width * 0.86:.3f}%" y="{60 - 58 * step.duration / longest:.2f}" '
        f'height="{58 * step.duration / longest:.2f}"/></a>'
        for number, step in enumerate(steps)
    )
    return f'<section id="steps"><h2>Steps</h2><svg class="steps" width="100%" height="60">{cells}</svg></section>'


def tables(report: Report) -> str:
    shown: list[Fitted] = []
    if report.breakdown.devices:
        shown += [breakdown_table(report.breakdown), name_table(report.summary.device, _ROWS)]
    if report.summary.host:
        shown.append(host_table(report.summary, _ROWS))
    if report.path.wall:
        shown.append(path_table(report.path, _ROWS))
    body = "".join(_section(each) for each in shown)
    return f'<section id="tables">{body}</section>'


def _section(table: Fitted) -> str:
    title = text(table.heads[0])
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">{_table(table)}</div>'
    return f"<h2>{title}</h2>{region}"


def _table(table: Fitted) -> str:
    head = _row("th", ("name", *table.heads[1:]), table.texts)
    body = "".join(_row("td", [*row, *[""] * (len(table.heads) - len(row))], table.texts) for row in table.rows)
    return f'<table class="sortable"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _row(cell: str, cells: Sequence[str], texts: int) -> str:
    def one(index: int, content: str) -> str:
        side = ' class="number"' if index >= texts else ""
        scope = ' scope="col"' if cell == "th" else ""
        return f"<{cell}{side}{scope}>{text(content)}</{cell}>"

    return f"<tr>{''.join(one(index, content) for index, content in enumerate(cells))}</tr>"


def key_list() -> str:
    return "<dl>" + "".join(f"<dt>{text(key)}</dt><dd>{text(what)}</dd>" for key, what in _KEYS.items()) + "</dl>"
