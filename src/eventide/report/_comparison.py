"""A comparison as text: what is not alike, what explains the difference, then names and steps."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from eventide.analysis import Comparison, Delta
from eventide.report import format as f
from eventide.report._table import Fitted, table


def render_comparison(result: Comparison, most: int = 10) -> RenderableType:
    head = f"{f.time(result.wall_a)} became {f.time(result.wall_b)}: {_signed(result.difference)}"
    if result.wall_a:
        head += f" ({result.difference / result.wall_a:+.1%})"
    parts: list[RenderableType] = [Text(f"Not alike: {warning}", style="yellow") for warning in result.warnings]
    parts += [Text(head), Text("")]
    device = result.device_b or result.device_a
    where = f" of {device}" if device else ""
    parts.append(_deltas(f"The difference, by time{where}", result.parts, len(result.parts), counts=False))
    for title, rows in (("Device work", result.device), ("Host code, self time", result.host)):
        if rows:
            parts += [Text(""), _deltas(title, rows, most, counts=True)]
    if result.steps:
        cells = [
            [
                pair.b.name if pair.b else pair.a.name if pair.a else "",
                f.time(pair.a.duration) if pair.a else "-",
                f.time(pair.b.duration) if pair.b else "-",
                _signed(pair.b.duration - pair.a.duration) if pair.a and pair.b else "-",
            ]
            for pair in result.steps[:most]
        ]
        parts += [Text(""), table("Step", ("before", "after", "difference"), cells)]
    return Group(*parts)


def _deltas(title: str, deltas: Sequence[Delta], most: int, *, counts: bool) -> Fitted:
    rows = []
    for each in deltas[:most]:
        count = [f"{each.count_a:,}", f"{each.count_b:,}"] if counts else []
        rows.append(
            [f.name(each.name, 60), each.category, *count, f.time(each.a), f.time(each.b), _signed(each.difference)]
        )
    if rest := deltas[most:]:
        blank = ["", ""] if counts else []
        times = (sum(each.a for each in rest), sum(each.b for each in rest))
        rows.append(
            [f"{len(rest):,} more", "", *blank, f.time(times[0]), f.time(times[1]), _signed(times[1] - times[0])]
        )
    total = (sum(each.a for each in deltas), sum(each.b for each in deltas))
    blank = ["", ""] if counts else []
    rows.append(["all", "", *blank, f.time(total[0]), f.time(total[1]), _signed(total[1] - total[0])])
    heads = ("count", "count") if counts else ()
    return table(title, ("kind", *heads, "before", "after", "difference"), rows, 2)


def _signed(nanoseconds: int) -> str:
    return f"{'+' if nanoseconds > 0 else ''}{f.time(nanoseconds)}"
