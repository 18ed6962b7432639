"""The parts of the page that need no script: findings, bars and tables as plain HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from eventide._util.html_text import text
from eventide.analysis import BestEdits, Lint, cut_short
from eventide.report._answers import render_compile, render_idle, render_memory, render_syncs
from eventide.report._gather import Report
from eventide.report._sample_tables import sample_tables
from eventide.report._steps import is_split, phase_table
from eventide.report._tables import Fitted, breakdown_table, edits_table, host_table, name_table, path_table, task_table
from eventide.report.rules import CONFIDENCES, Finding, findings, unknowns

_ROWS = 200
_COMMAND = re.compile("`([^`<>]+)`")  # in a remedy
_KEYS = {
    "w s": "zoom in and out", "a d": "move left and right", "f F": "fit the selected span, fit everything",
    "/": "search; Enter or n for the next match, N for the one before", "m": "set a mark",
    ". ,": "next and previous span of the lane", "[ ]": "to the cause and to the effect of the selected span",
    "arrows": "along the lane and between lanes", "Enter": "details of the selected span",
    "c C": "fold the track of the selected span, fold every track; or click its name",
    "1 2 3 ...": "go to the finding of that number", "r": "sums of what is in view", "t": "what is in view as a table",
    "Esc": "clear", "?": "this list", "Ctrl + wheel": "zoom",
    "drag": "move; on the ruler or with Shift: select a time range",
}  # fmt: skip


_FIRST_KEYS = {
    "w s": "zoom in and out", "a d": "move left and right", "[ ]": "to the cause, to the effect",
    "1 2 3": "go to a finding", "/": "search", "?": "all keys",
}  # fmt: skip
_LOST = {"incomplete-recording", "dropped-by-profile", "warnings-of-the-recording"}  # rules: something was not kept


def completeness(report: Report) -> str:
    """Whether the trace is whole, as a word in the head of the page."""
    cut = cut_short(report.metadata)
    if cut:
        style, word, why = "bad", "cut short", cut
    elif not report.spans and not report.samples.count:
        style, word, why = "unsure", "empty", "the trace has neither spans nor samples"
    elif any(each.rule in _LOST for each in unknowns(report)):
        style, word, why = "unsure", "incomplete", "records were lost: see Not known"
    else:
        style, word, why = "good", "complete", "no loss of records is known"
    return f'<span class="chip {style}" title="{text(why)}">{word}</span>'


def unknown_list(report: Report) -> str:
    """What is missing or not known."""
    items = "".join(f"<li>{text(note.text)}</li>" for note in unknowns(report))
    return f'<section id="unknown"><h2>Not known</h2><ul class="unknowns">{items}</ul></section>' if items else ""


def finding_list(report: Report, where: Callable[[Finding], str | None], first: int = 1) -> str:
    """Numbered from `first`: the findings of the sanitizer come before. `where` has the link of each, if it has one."""
    items = "".join(_finding(each, number, where(each)) for number, each in enumerate(findings(report), first))
    nothing = "No rule found anything." if report.spans or report.samples.count else "There is nothing in the trace."
    listed = f'<ol class="findings">{items}</ol>' if items else f'<p class="note">{nothing}</p>'
    return f'<section id="findings"><h2>Findings</h2>{listed}</section>'


def _finding(finding: Finding, number: int, where: str | None) -> str:
    """The sentence, what to do, a link to its place on the timeline, and the rule."""
    link = "" if where is None else f'<a href="{text(where)}">Show on the timeline</a> '
    remedy = _COMMAND.sub(r"<code>\1</code>", text(finding.remedy or ""))
    todo = f'<span class="todo">{remedy}</span>' if remedy else ""
    sure = "" if finding.confidence == CONFIDENCES[0] else f", {finding.confidence}"
    rule = f'<span class="rule">{text(finding.rule)}{sure}</span>'
    badge = f'<span class="badge">{number}</span>'
    return f'<li>{badge}{text(finding.text)}{todo}<span class="links">{link}{rule}</span></li>'


def tables(report: Report, oddities: Lint) -> str:
    shown: list[Fitted] = []
    if report.breakdown.devices:
        shown += [breakdown_table(report.breakdown), name_table(report.summary.device, _ROWS)]
    if report.summary.host:
        shown.append(host_table(report.summary, _ROWS))
    if report.summary.tasks:
        shown.append(task_table(report.summary, _ROWS))
    shown += sample_tables(report.samples, _ROWS)
    if report.path.wall and report.breakdown.devices:
        shown.append(path_table(report.path, _ROWS))
    if is_split(report.phases):
        shown.append(phase_table(report.phases))
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


def timeline(note: str, *, empty: bool) -> str:
    """The place of the timeline, which the script fills; what is left out is in the note."""
    return f"""<section id="timeline"{' class="nothing"' if empty else ""} aria-label="Timeline"><h2>Timeline</h2>{note}
<div class="toolbar"><label class="hidden" for="search">Search names</label>
<input id="search" type="search" autocomplete="off" placeholder="Search names ( / )">
<span id="matches" class="note"></span><span class="buttons"><button id="zoomIn" type="button">Zoom in</button>
<button id="zoomOut" type="button">Zoom out</button><button id="fit" type="button">Fit</button></span></div>
<canvas id="strip" role="img" aria-label="Overview of the whole trace: streams above, threads below. \
Drag over it to choose what the timeline shows; the keys w s a d do the same."></canvas>
<div class="stage"><div id="scroller"><canvas id="lanes" tabindex="0" role="application" \
aria-label="Timeline. Arrow keys select spans; ? lists all keys."></canvas><div id="spacer"></div></div>
<aside id="panel" tabindex="0" aria-label="Details of the selection">{_hint()}</aside>
<div id="tip" hidden aria-hidden="true"></div></div>
<ul id="kinds" class="legend"></ul><ul id="causes" class="legend"></ul>
<details id="asTable"><summary>Spans in view as a table</summary><div id="spans" class="scroll" tabindex="0" \
role="region" aria-label="Spans in view"></div></details>
<p id="live" class="hidden" role="status" aria-live="polite"></p></section>"""


def _hint() -> str:
    """What the panel has while nothing is selected."""
    keys = "".join(f"<dt><kbd>{text(key)}</kbd></dt><dd>{text(what)}</dd>" for key, what in _FIRST_KEYS.items())
    return f'<p>Click a span for its details, or drag over the ruler for exact sums.</p><dl class="keys">{keys}</dl>'


def key_dialog() -> str:
    return (
        f'<dialog id="help" aria-label="Keys"><h2>Keys</h2>{_key_list()}'
        '<button id="helpClose" type="button">Close</button></dialog>'
    )


def _key_list() -> str:
    rows = "".join(f"<dt><kbd>{text(key)}</kbd></dt><dd>{text(what)}</dd>" for key, what in _KEYS.items())
    return f'<dl class="keys">{rows}</dl>'
