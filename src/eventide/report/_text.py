"""A report as one screen of text: findings first, then the tables, then what to do next."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eventide.report import format as f
from eventide.report._findings import findings, unknowns
from eventide.report._gather import Report
from eventide.report._tables import breakdown_table, host_table, name_table, path_table

_FINDINGS, _ROWS, _DEVICES = 5, 3, 4


def render_report(report: Report) -> RenderableType:
    """The whole screen."""
    found = findings(report)[:_FINDINGS]
    parts: list[RenderableType] = [
        _title(report),
        Text(""),
        _listed([finding.text for finding in found], numbered=True),
    ]
    if report.breakdown.devices:
        several = len(report.breakdown.devices) > 1
        parts += [Text(""), breakdown_table(report.breakdown, 0 if several else 1, _DEVICES), *_causes(report)]
        parts += [Text(""), name_table(report.summary.device, _ROWS)]
    if report.summary.host:
        parts += [Text(""), host_table(report.summary, _ROWS)]
    if report.path.wall and report.breakdown.devices:
        parts += [Text(""), path_table(report.path, 3)]
    todos = [*dict.fromkeys(finding.todo for finding in found if finding.todo)][:2]
    for head, texts in (("Next", todos), ("Not known", unknowns(report)[:3])):
        if texts:
            parts += [Text(""), Text(head, style="bold"), _listed(texts)]
    return Group(*parts)


def _listed(texts: list[str], *, numbered: bool = False) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for number, text in enumerate(texts, 1):
        grid.add_row(f"{number}." if numbered else "-", Text(text))
    return grid


def _causes(report: Report) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for lane in sorted(report.idle.lanes, key=lambda lane: -lane.idle)[:2]:
        if lane.idle:
            causes = sorted(lane.causes.items(), key=lambda item: -item[1])
            text = ", ".join(f"{cause} {f.percent(time, lane.idle)}" for cause, time in causes)
            lines.append(Text(f"Idle time of {lane.device}: {text}"))
    return lines


def _title(report: Report) -> Text:
    meta = report.metadata
    facts = [f.time(report.summary.wall)]
    names = {str(each.get("name")) for each in meta.get("devices") or [] if isinstance(each, dict) and each.get("name")}
    devices = [each.device for each in report.breakdown.devices]
    if devices:
        shown = ", ".join(devices[:4]) + (f" and {len(devices) - 4} more" if len(devices) > 4 else "")
        facts.append(shown + (f" ({', '.join(sorted(names))})" if names else ""))
    if meta.get("rank") is not None:
        facts.append(f"rank {meta['rank']}" + (f" of {meta['world_size']}" if meta.get("world_size") else ""))
    if report.steps:
        lengths = sorted(step.duration for step in report.steps)
        middle = f.time(lengths[len(lengths) // 2])
        facts.append(f.count(len(lengths), "step") + (f" (median {middle})" if len(lengths) > 1 else f" ({middle})"))
    facts.append(f.count(report.spans, "span"))
    return Text.assemble((report.title, "bold"), ": ", ", ".join(facts))
