"""The page of a job: findings, a heat map of ranks and steps, three ranks on one axis. HTML and SVG, no script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eventide._util import format as f
from eventide._util.html_text import text
from eventide.jobs import JobReport
from eventide.report.page._document import document
from eventide.report.page._figures import legend

_CELLS = 200  # steps, and ranks, of the heat map: more are joined, and a cell shows the slowest of them
_LABEL = 17  # percent of the width, for the names of ranks
_SHADES = 7  # of a cell: heat0 to heat6 of the style, 5 % each
_KEYS = (("compute", "between collectives"), ("waits", "waiting"), ("transfer", "transfer"))


def make_job_page(report: JobReport, findings: Sequence[str], facts: str) -> str:
    """The page as text; it loads nothing and runs nothing."""
    listed = "".join(
        f'<li><span class="badge">{number}</span>{text(each)}.</li>' for number, each in enumerate(findings, 1)
    )
    unknown = "".join(f"<li>{text(each)}.</li>" for each in report.hidden)
    main = f"""<section id="findings"><h2>Findings</h2><ol class="findings">{listed}</ol></section>
<section id="unknown"><h2>Not known</h2><ul class="unknowns">{unknown or "<li>Nothing is missing.</li>"}</ul></section>
{heat_map(report)}
{three_ranks(report)}
{_tables(report)}"""
    return document(report.path, facts, main, command="eventide job report")


def heat_map(report: JobReport) -> str:
    """Rank by step: what each rank needed beyond the median of the ranks, without its waiting for others."""
    lengths = own_lengths(report)
    ranks = [row.rank for row in report.imbalance.ranks]
    steps = list(lengths)
    if not ranks or not steps:
        return ""
    rows, columns = _joined(ranks), _joined(steps)
    cells = []
    for down, some in enumerate(rows):
        for along, which in enumerate(columns):
            cells.append(_cell(lengths, some, which, (down, along)))
    height, width = 14 * len(rows), 100 / len(columns)
    marks = "".join(
        f'<text x="0" y="{14 * down + 11}">{text(_span([str(rank) for rank in some]))}</text>'
        for down, some in enumerate(rows)
        if len(rows) <= 40 or down % 10 == 0
    )
    drawn = "".join(
        f'<g><title>{text(title)}</title><rect x="{6 + 0.94 * along * width:.3f}%" y="{14 * down}" '
        f'width="{0.94 * width:.3f}%" height="13" {fill}/></g>'
        for title, fill, (down, along) in cells
    )
    label = f"Heat map of {len(ranks)} ranks and {len(steps)} steps"
    note = (
        "A row is a rank, a column a step. Colour: the time of the rank in the step without waiting for others, "
        "against the median of the ranks; empty: not known."
    )
    drawing = _drawing(label, height, marks + drawn)
    return f'<section id="heat"><h2>Ranks and steps</h2><p class="note">{note}</p>{_scale()}{drawing}</section>'


def _drawing(label: str, height: int, content: str) -> str:
    return f'<svg class="ranks" role="img" aria-label="{text(label)}" width="100%" height="{height}">{content}</svg>'


def _scale() -> str:
    words = ["the median", *(f"+{5 * shade} %" for shade in range(1, _SHADES - 1)), f"+{5 * _SHADES - 5} % and more"]
    return legend((f"heat{shade}", word) for shade, word in enumerate(words))


def own_lengths(report: JobReport) -> dict[str, dict[int, float]]:
    """By step and rank: its length less what it waited in collectives of that step; ranks whose waiting is known."""
    away = set(report.clocks.unaligned)
    found = report.clocks.matched
    waited: dict[tuple[str | None, int], float] = {}
    steps = [found.steps[each] for each in found.collective.tolist()]
    for step, rank, wait in zip(steps, found.rank.tolist(), np.nan_to_num(report.waiting.waits).tolist(), strict=True):
        key = (step, found.ranks[rank])
        waited[key] = waited.get(key, 0.0) + wait
    only = len(report.imbalance.lengths) == 1
    return {
        step: {
            rank: length - waited.get((step, rank), waited.get((None, rank), 0.0) if only else 0.0)
            for rank, length in row.items()
            if rank not in away
        }
        for step, row in report.imbalance.lengths.items()
    }


def _joined(values: Sequence[object]) -> list[Sequence[object]]:
    """At most _CELLS groups of neighbours."""
    size = -(-len(values) // _CELLS)
    return [values[low : low + size] for low in range(0, len(values), size)]


def _cell(
    lengths: dict[str, dict[int, float]], ranks: Sequence[object], steps: Sequence[object], place: tuple[int, int]
) -> tuple[str, str, tuple[int, int]]:
    worst, who = None, ""
    for step in steps:
        row = lengths[str(step)]
        usual = float(np.median(list(row.values()))) if row else 0.0
        for rank in ranks:
            own = row.get(int(str(rank)))
            if own is not None and usual > 0 and (worst is None or own / usual > worst):
                worst = own / usual
                who = f"rank {rank}, {step}: {f.time(own)}, {100 * (worst - 1):+.1f} % against the median"
    if worst is None:
        return f"rank {_span(ranks)}, {_span(steps)}: not known", 'class="missing"', place
    return who, f'class="heat{int(np.clip((worst - 0.95) / 0.05, 0, _SHADES - 1))}"', place


def _span(values: Sequence[object]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def three_ranks(report: JobReport) -> str:
    """The worst, the median and the best rank, by what they cost the others, on the clock of the reference."""
    order = [each.rank for each in report.waiting.ranks if each.rank not in report.clocks.unaligned]
    if not order:
        return ""
    chosen = dict.fromkeys([(order[0], "worst"), (order[len(order) // 2], "median"), (order[-1], "best")])
    found, clocks = report.clocks.matched, report.clocks
    known = np.isfinite(clocks.error)
    windows = report.stragglers.operations.windows
    low, high = min(begin for begin, _ in windows.values()), max(end for _, end in windows.values())
    scale = (100 - _LABEL) / max(high - low, 1.0)
    lines = []
    for line, (rank, word) in enumerate(chosen):
        rows = np.flatnonzero((found.rank == found.ranks.index(rank)) & known)
        lines.append(f'<text x="0" y="{line * 26 + 16}">rank {rank} ({word})</text>')
        begin, end = windows[rank]
        lines.append(_bar("compute", _LABEL + scale * (begin - low), scale * (end - begin), line))
        for row in rows[:5000].tolist():
            start, end = float(clocks.start[row]) - low, float(clocks.end[row]) - low
            wait = float(np.nan_to_num(report.waiting.waits[row]))
            title = f"{found.name(int(found.collective[row]))}: waited {f.time(wait)} of {f.time(end - start)}"
            pieces = (("waits", start, wait), ("transfer", start + wait, end - start - wait))
            parts = "".join(
                _bar(kind, _LABEL + scale * at, scale * time, line) for kind, at, time in pieces if time > 0
            )
            lines.append(f"<g><title>{text(title)}</title>{parts}</g>")
    known_to = f.time(float(clocks.error[known].max()))
    note = f"{f.time(high - low)} on one axis, known to {known_to}; empty: not recorded."
    drawing = _drawing("Three ranks on one axis", 26 * len(chosen), "".join(lines))
    return (
        f'<section id="ranks"><h2>Worst, median and best rank</h2><p class="note">{note}</p>{legend(_KEYS)}{drawing}'
        "</section>"
    )


def _bar(kind: str, left: float, width: float, line: int) -> str:
    return f'<rect class="{kind}" x="{left:.4f}%" y="{line * 26 + 3}" width="{width:.4f}%" height="18"/>'


def _tables(report: JobReport) -> str:
    from eventide.report.job import (
        bandwidth_table,
        imbalance_table,
        path_table,
        share_tables,
        stage_table,
        straggler_table,
        wait_table,
    )

    shown = (
        straggler_table(report.stragglers, report.waiting, 200),
        *share_tables(report.stragglers.what_if, 200),
        wait_table(report.waiting, 200),
        stage_table(report.imbalance),
        imbalance_table(report.imbalance, 200),
        bandwidth_table(report.bandwidth, 200),
        path_table(report.critical_path, 200),
    )
    parts = []
    for each in shown:
        side = ["" if place < each.texts else ' class="number"' for place in range(len(each.heads))]
        heads = ("name", *each.heads[1:])
        head = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for kind, name in zip(side, heads, strict=True))
        rows = [zip(side, row, strict=False) for row in each.rows]
        body = "".join(f"<tr>{''.join(f'<td{kind}>{text(cell)}</td>' for kind, cell in row)}</tr>" for row in rows)
        title = text(each.heads[0])
        whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        region = f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">{whole}</div>'
        parts.append(f"<h2>{title}</h2>{region}")
    return f'<section id="tables">{"".join(parts)}</section>'
