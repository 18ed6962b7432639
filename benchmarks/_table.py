"""Rows to text: one aligned table, notes and evidence below it."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks._harness import Row


HEAD = ("what", "against", "ours", "peer", "ratio", "bar", "met")
NOISY = 0.25  # quartiles further apart than this, as a part of the median, are marked


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    if len(samples) < 4:
        return min(samples), max(samples)
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


def noisy(samples: Sequence[float]) -> bool:
    low, high = quartiles(samples)
    return high - low > NOISY * abs(statistics.median(samples))


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _sample(samples: Sequence[float], unit: str) -> str:
    if not samples:
        return "-"
    low, high = (_number(value) for value in quartiles(samples))
    return f"{_number(statistics.median(samples))} {unit} ({low}..{high}){'~' if noisy(samples) else ''}"


def ratio_text(ratio: float | None) -> str:
    """A ratio as people say it: 0.1 is 1:10, 1.4 is 1.4x."""
    if ratio is None:
        return "-"
    if ratio <= 0:
        return "0"
    return f"1:{1 / ratio:.3g}" if ratio < 1 else f"{ratio:.3g}x"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "-"
    low, high = quartiles(row.ratios)
    return f"{ratio_text(row.ratio)} ({ratio_text(low)}..{ratio_text(high)})"


def _bar(bar: float | str | None) -> str:
    if isinstance(bar, str):
        return bar
    return "-" if bar is None else f"<= {ratio_text(bar)}"


def _met(row: Row) -> str:
    if row.problem is not None:
        return "not run"
    return {None: "-", True: "yes", False: "no"}[row.met]


def _cells(row: Row) -> tuple[str, ...]:
    ours, peer = _sample(row.ours, row.unit), _sample(row.peer, row.unit)
    return row.what, row.against, ours, peer, _ratio(row), _bar(row.bar), _met(row)


def _below(rows: Sequence[Row]) -> list[str]:
    lines = [f"! {row.what}: {row.problem}" for row in rows if row.problem is not None]
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.note is not None:
            notes.setdefault(row.note, []).append(row.what)
    lines += [f"* {', '.join(names)}: {note}" for note, names in notes.items()]
    if any(noisy(samples) for row in rows for samples in (row.ours, row.peer) if samples):
        lines.append("~ quartiles more than 25 % apart: the machine was busy, repeat before believing it")
    for row in rows:
        if row.evidence:
            lines += [f"{row.what}:", *(f"    {line}" for line in row.evidence)]
    return lines


def render(rows: Sequence[Row]) -> str:
    table = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEAD))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join([*lines, "", *_below(rows)]).rstrip()
