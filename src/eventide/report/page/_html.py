"""The parts of the page that need no script: findings, bars and tables as plain HTML."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.analysis import PHASES, BestEdits, Lint, Part, StepPhases
from eventide.report._answers import render_compile, render_idle, render_memory, render_syncs
from eventide.report._gather import Report
from eventide.report._sample_tables import sample_tables
from eventide.report._steps import is_split, limit_of, phase_table
from eventide.report._tables import Fitted, breakdown_table, edits_table, host_table, name_table, path_table
from eventide.report.rules import Finding, findings, unknowns

_ROWS = 200
_KEYS = {
    "w s": "zoom in and out", "a d": "move left and right", "f F": "fit the selected span, fit everything",
    "/": "search; Enter or n for the next match, N for the one before", "m": "set a mark",
    ". ,": "next and previous span of the lane", "[ ]": "to the cause and to the effect of the selected span",
    "arrows": "along the lane and between lanes", "Enter": "details of the selected span",
    "1 2 3 ...": "go to the finding of that number", "r": "sums of what is in view", "t": "what is in view as a table",
    "Esc": "clear", "?": "this list", "Ctrl + wheel": "zoom",
    "drag": "move; on the ruler or with Shift: select a time range",
}  # fmt: skip


def header(report: Report) -> str:
    """What is missing or not known."""
    notes = "".join(f'<p class="warning">{text(note.text)}</p>' for note in unknowns(report))
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
    todo = f'<span class="todo">{text(finding.remedy)}</span>' if finding.remedy else ""
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
    steps = report.phases.steps[:2000]
    limit = limit_of([step.duration for step in steps])
    cells = "".join(
        _step(step, number, 100 / len(steps), limit, report.idle.start) for number, step in enumerate(steps)
    )
    split = is_split(report.phases)
    table = f'<div class="scroll">{_table(phase_table(report.phases))}</div>' if split else ""
    keys = "".join(f'<li class="{phase}">{phase}</li>' for phase, time in report.phases.totals().items() if time)
    legend = f'<ul class="legend">{keys}</ul>' if split else ""
    note = f'<p class="note">Full height: {text(f.time(limit))}; longer steps end there.</p>'
    strip = f'<svg class="steps" width="100%" height="60">{cells}</svg>'
    return f'<section id="steps"><h2>Steps</h2>{note}{strip}{legend}{table}</section>'


def _step(step: StepPhases, number: int, width: float, limit: int, origin: int) -> str:
    """A link to the step, with its parts from the bottom up."""
    parts = [(phase, getattr(step, phase)) for phase in (*PHASES, "other") if getattr(step, phase)]
    about = text(
        f"{step.name}: {f.time(step.duration)}; " + ", ".join(f"{phase} {f.time(time)}" for phase, time in parts)
    )
    scale = 58 / max(limit, step.duration)
    bars, bottom = "", 60.0
    for phase, time in parts:
        height = scale * time
        bottom -= height
        place = f'x="{number * width:.3f}%" width="{width * 0.86:.3f}%" y="{bottom:.2f}"'
        bars += f'<rect class="{phase}" {place} height="{height:.2f}"/>'
    where = f"#v={step.start - origin},{step.start + step.duration - origin}"
    return f'<a href="{where}" aria-label="{about}"><title>{about}</title>{bars}</a>'


def tables(report: Report, oddities: Lint) -> str:
    shown: list[Fitted] = []
    if report.breakdown.devices:
        shown += [breakdown_table(report.breakdown), name_table(report.summary.device, _ROWS)]
    if report.summary.host:
        shown.append(host_table(report.summary, _ROWS))
    shown += sample_tables(report.samples, _ROWS)
    if report.path.wall and report.breakdown.devices:
        shown.append(path_table(report.path, _ROWS))
    body = "".join(_section(each) for each in shown)
    return f'<section id="tables">{body}{_answers(report)}{_lint(oddities)}</section>'


def _lint(result: Lint) -> str:
    """What is odd about the file, so that one may doubt it."""
    if not result.findings:
        return f"<h2>Lint of the recording</h2><p>Nothing odd: {len(result.rules)} rules looked at the trace.</p>"
    rows = [
        [each.rule, each.example, each.meaning, f"{each.count:,}", f"{each.checked:,}" if each.checked else "-"]
        for each in result.findings
    ]
    return _section(Fitted(("Lint of the recording", "such as", "what it means", "count", "of"), rows, 3))


def edits(result: BestEdits | None) -> str:
    """The edits that save most, each with the interval of what it saves; or why there is no ranking."""
    if result is None:
        return ""
    table = _section(edits_table(result, len(result.rows))) if result.rows else "<h2>Best edits</h2>"
    return f'<section id="edits">{table}<p class="note">{text(result.heading)}</p></section>'


def _answers(report: Report) -> str:
    """The text and the tables of the commands `eventide trace idle|syncs|memory|compile`, where there is something."""
    parts: list[RenderableType] = []
    if report.idle.lanes:
        parts.append(render_idle(report.idle, _ROWS))
    if report.syncs.count:
        parts.append(render_syncs(report.syncs, _ROWS))
    if report.memory.devices or report.memory.process:
        parts += [Text("Memory", style="bold"), render_memory(report.memory, _ROWS)]
    if report.compiles.count:
        parts.append(render_compile(report.compiles, _ROWS))
    return "".join(_rendered(each) for each in parts)


def _rendered(part: RenderableType) -> str:
    """A part of the text report as HTML: its tables, paragraphs and headings."""
    if isinstance(part, Group):
        return "".join(_rendered(each) for each in part.renderables)
    if isinstance(part, Fitted):
        return _section(part)
    if isinstance(part, Text) and part.plain:
        name = "h2" if part.style == "bold" else "p"
        return f"<{name}>{text(part.plain)}</{name}>"
    return ""


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


def timeline(note: str) -> str:
    """The place of the timeline, which the script fills; what is left out is in the note."""
    return f"""<section id="timeline" aria-label="Timeline"><h2>Timeline</h2>{note}
<p><label for="search">Search names</label> <input id="search" type="search" autocomplete="off"></p>
<canvas id="strip" role="img" aria-label="Overview of the whole trace: streams above, threads below. \
Drag over it to choose what the timeline shows; the keys w a s d do the same."></canvas>
<div class="stage"><div id="scroller"><canvas id="lanes" tabindex="0" role="application" \
aria-label="Timeline. Arrow keys select spans; ? lists all keys."></canvas><div id="spacer"></div></div>
<aside id="panel" tabindex="0" aria-label="Details of the selection"></aside></div>
<ul id="kinds" class="legend"></ul><ul id="causes" class="legend"></ul>
<details id="asTable"><summary>Spans in view as a table</summary><div id="spans" class="scroll" tabindex="0" \
role="region" aria-label="Spans in view"></div></details>
<p id="live" class="hidden" role="status" aria-live="polite"></p></section>"""


def key_dialog() -> str:
    return (
        f'<dialog id="help" aria-label="Keys"><h2>Keys</h2>{_key_list()}'
        '<button id="helpClose" type="button">Close</button></dialog>'
    )


def _key_list() -> str:
    return "<dl>" + "".join(f"<dt>{text(key)}</dt><dd>{text(what)}</dd>" for key, what in _KEYS.items()) + "</dl>"
