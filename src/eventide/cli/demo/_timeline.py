"""One run seen through the hooks: how many callbacks came from each, and a timeline of the two streams.

The timeline is text: a row for each stream, every work item a bar with its shard's number. It is cut into as many
bands as it takes for the numbers to fit.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich.text import Text

import eventide as et

ROWS = ("load", "train")
_MAX_BANDS = 3
_COLOURS = ("cyan", "magenta")  # by slot


@dataclass(frozen=True)
class Span:
    """One work item; times in milliseconds since the first one began."""

    row: str  # the name of the work, which is that of its stream
    shard: int
    slot: int
    start: float
    end: float


def trace(run: Callable[[], object], order: Sequence[int]) -> tuple[dict[str, int], tuple[Span, ...]]:
    """Run once with a callback on every hook; return the number of calls of each hook and the spans.

    `order` holds the numbers of the shards in the order of training.
    """
    calls_of: dict[str, list[tuple[Any, ...]]] = {hook: [] for hook in et.hooks.HOOKS}
    with ExitStack() as subscriptions:
        for hook, calls in calls_of.items():
            # list.append is atomic: completions come from the streams' own threads
            subscriptions.enter_context(et.hooks.on(hook, lambda *args, calls=calls: calls.append(args)))
        run()
    return {hook: len(calls) for hook, calls in calls_of.items()}, _spans(calls_of, order)


def _spans(calls_of: dict[str, list[tuple[Any, ...]]], order: Sequence[int]) -> tuple[Span, ...]:
    times = {work: (start, end) for work, start, end in calls_of["work_completion"]}
    zero = min((start for start, _ in times.values()), default=0)
    spans = []
    for row in ROWS:
        works = [work for _stream, work, name, *_ in calls_of["work_submission"] if name == row]
        for i, (shard, work) in enumerate(zip(order, works, strict=True)):
            start, end = times[work]
            spans.append(Span(row, shard, i % 2, (start - zero) / 1e6, (end - zero) / 1e6))
    return tuple(spans)


def overlap(spans: Sequence[Span]) -> float:
    """Milliseconds in which both rows were busy."""
    first, second = ([span for span in spans if span.row == row] for row in ROWS)
    return sum(max(0.0, min(a.end, b.end) - max(a.start, b.start)) for a in first for b in second)


def draw(spans: Sequence[Span], width: int, *, ascii_only: bool = False) -> list[Text]:
    """Draw the spans in lines of at most `width` characters."""
    if not spans:
        return []
    columns = width - 7  # "train  "
    total = max(span.end for span in spans)
    shortest = max(min(span.end - span.start for span in spans), total / (columns * _MAX_BANDS))
    bands = min(_MAX_BANDS, math.ceil(4 * total / shortest / columns))  # 4: a bar, two digits, one of fill
    scale = columns * bands / total  # columns per millisecond
    rows = {row: _row([span for span in spans if span.row == row], columns * bands, scale, ascii_only) for row in ROWS}
    lines = []
    for band in range(bands):
        first, last = band * columns, (band + 1) * columns
        lines.append(Text(f"{'ms':7}", "dim") + Text(_axis(first, last, scale), "dim"))
        lines += [Text(f"{row:7}", "bold") + rows[row][first:last] for row in ROWS]
    return lines


def _row(spans: Sequence[Span], columns: int, scale: float, ascii_only: bool) -> Text:
    bar, fills, idle = ("|", "=-", ".") if ascii_only else ("┃", "━─", "·")
    cells, styles = [idle] * columns, ["dim"] * columns
    for span in spans:
        first = min(columns - 1, round(span.start * scale))
        last = min(columns, max(first + 1, round(span.end * scale)))
        label = str(span.shard) if len(str(span.shard)) < last - first else ""
        text = (bar + label).ljust(last - first, fills[span.slot])
        cells[first:last] = text
        styles[first:last] = [_COLOURS[span.slot]] * (last - first)
    row = Text()
    for cell, style in zip(cells, styles, strict=True):
        row.append(cell, style)
    return row


def _axis(first: int, last: int, scale: float) -> str:
    """Milliseconds above the columns from `first` up to `last`, at least 12 columns apart."""
    tick = next(tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if tick * scale >= 12)
    axis = [" "] * (last - first)
    for i in range(math.ceil(first / scale / tick), math.ceil(last / scale / tick)):
        label = str(i * tick)
        at = min(round(i * tick * scale) - first, len(axis) - len(label))  # one that would be cut moves left
        axis[at : at + len(label)] = label
    return "".join(axis)
