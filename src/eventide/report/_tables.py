"""Results as tables of rich, each fit for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from eventide._util import format as f
from eventide.analysis import BestEdits, Breakdown, CriticalPath, DeviceBreakdown, NameRow, OperatorRow, Part, Summary

_WIDTH = 100  # columns of text that is not printed to a terminal
_GAP = 2  # between columns
_LEAST = 12  # columns of a terminal that a text keeps


@dataclass(frozen=True)
class Fitted:
    """Drawn when the width is known; the first `texts` columns hold text, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self.widths(options.max_width)
        drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        for index, (head, width) in enumerate(zip(self.heads, widths, strict=False)):
            style = "bold not dim" if index == 0 else ""
            side = "left" if index < self.texts else "right"
            drawn.add_column(Text(head, style=style), justify=side, no_wrap=True, overflow="ellipsis", width=width)  # type: ignore[arg-type]
        for row in self.rows:
            drawn.add_row(*(Text(cell) for cell in row[: len(widths)]))
        yield drawn

    def widths(self, room: int) -> list[int]:
        """What each column needs; too much is taken from the texts, from the widest first.

        Where that is not enough the last columns of numbers are left out: a number is whole or absent.
        """
        needed = [
            max([len(head), *(len(row[index]) for row in self.rows if index < len(row))])
            for index, head in enumerate(self.heads)
        ]
        least = [min(width, _LEAST) if index < self.texts else width for index, width in enumerate(needed)]
        while len(least) > self.texts + 1 and sum(least) + _GAP * (len(least) - 1) > room:
            least.pop()
        return fit(needed[: len(least)], range(self.texts), room - _GAP * (len(least) - 1))


def fit(needed: Sequence[int], texts: Sequence[int], room: int) -> list[int]:
    """These widths, with what is too much taken from the texts, from the widest first; they may not fit even so."""
    widths, over = list(needed), sum(needed) - room
    while over > 0 and texts:
        widest = max(texts, key=lambda index: widths[index])
        if widths[widest] <= _LEAST:
            break
        others = [widths[index] for index in texts if index != widest]
        step = min(over, max(widths[widest] - max([_LEAST, *others]), 1))
        widths[widest] -= step
        over -= step
    return widths


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Fitted:
    """The first `texts` columns, the title's among them, hold text, the others numbers."""
    return Fitted((title, *columns), rows, texts)


_PARTS = ("wall", "compute", "comm", "copy", "overlap", "idle")


def breakdown_table(result: Breakdown, most: int | None = None, devices: int | None = None) -> Fitted:
    """One line a device and step; `most` keeps the slowest steps, `devices` the idlest; others are counted."""
    rows = []
    shown = sorted(result.devices, key=lambda device: -device.whole.idle)[:devices]
    for device in (each for each in result.devices if each in shown):
        rows.append([device.device, *_part(device.whole)])
        steps, left = _steps(device, most)
        rows += [[f"  {part.scope}", *_part(part)] for part in steps if part.wall]
        if left:
            rows.append([f"  {left} faster {'step' if left == 1 else 'steps'}"])
    if len(shown) < len(result.devices):
        rows.append([f"{len(result.devices) - len(shown)} busier devices"])
    return table("Where the time went", _PARTS, rows)


def _steps(device: DeviceBreakdown, most: int | None) -> tuple[list[Part], int]:
    steps = list(device.steps)
    if most is None or len(steps) <= most + 1:
        return steps, 0
    slowest = sorted(steps[:-1], key=lambda part: -part.wall)[:most]
    kept = [part for part in steps[:-1] if part in slowest]
    return kept, len(steps) - 1 - len(kept)


def _part(part: Part) -> list[str]:
    times = (part.compute, part.communication, part.copy, sum(part.overlap.values()), part.idle)
    return [f.time(part.wall), *(f.percent(time, part.wall) for time in times)]


def name_table(rows: Sequence[NameRow], most: int) -> Fitted:
    """Device work by name; shares are of the time of all work, which may run at once."""
    whole = sum(row.total for row in rows)
    cells = [
        [
            f.name(row.name, 70),
            row.category,
            f.time(row.total),
            f.percent(row.total, whole),
            f"{row.count:,}",
            f.time(row.min),
            f.time(row.median),
            f.time(row.max),
        ]
        for row in rows[:most]
    ]
    if rest := rows[most:]:
        time = sum(row.total for row in rest)
        cells.append([_more(rest), "", f.time(time), f.percent(time, whole), f"{sum(row.count for row in rest):,}"])
    return table("Device work", ("kind", "total", "share", "count", "min", "median", "max"), cells, 2)


def host_table(result: Summary, most: int) -> Fitted:
    """Host code by self time."""
    rows = [
        [
            f.name(row.name, 70),
            row.category,
            f.time(row.self_time),
            f.time(row.total),
            f"{row.count:,}",
            f.time(row.min),
            f.time(row.median),
            f.time(row.max),
        ]
        for row in result.host[:most]
    ]
    if rest := result.host[most:]:
        time = sum(row.self_time for row in rest)
        rows.append([_more(rest), "", f.time(time), "", f"{sum(row.count for row in rest):,}"])
    return table("Host code", ("kind", "self", "total", "count", "min", "median", "max"), rows, 2)


def task_table(result: Summary, most: int) -> Fitted:
    """Tasks of asyncio by name: from creation to end, waiting included."""
    rows = [
        [
            f.name(row.name, 70),
            f.time(row.total),
            f"{row.count:,}",
            f.time(row.min),
            f.time(row.median),
            f.time(row.max),
        ]
        for row in result.tasks[:most]
    ]
    if rest := result.tasks[most:]:
        rows.append([_more(rest), f.time(sum(row.total for row in rest)), f"{sum(row.count for row in rest):,}"])
    return table("Task", ("total", "count", "min", "median", "max"), rows)


@dataclass(frozen=True, repr=False)
class OperatorTable:
    """Spans by name, with FLOPs and input shapes where there are any; it prints as a table."""

    rows: tuple[OperatorRow, ...]
    left_out: tuple[OperatorRow, ...] = ()

    def __rich__(self) -> Fitted:
        whole = sum(row.self_time for row in (*self.rows, *self.left_out))
        flops, shapes = any(row.flops for row in self.rows), any(row.shapes for row in self.rows)
        memory = _memory_columns((*self.rows, *self.left_out))
        cells = [
            [
                f.name(row.name, 70),
                row.category,
                *([f.name(row.shapes or "", 40)] if shapes else []),
                f.time(row.self_time),
                f.percent(row.self_time, whole),
                f.time(row.total),
                f.time(row.mean),
                f"{row.count:,}",
                *([f.quantity(row.flops)] if flops else []),
                *(_bytes(getattr(row, name)) for name, _ in memory),
            ]
            for row in self.rows
        ]
        if rest := self.left_out:
            time = sum(row.self_time for row in rest)
            blank = [""] * (2 if shapes else 1)
            cells.append([_more(rest), *blank, f.time(time), f.percent(time, whole)])
        heads = ["kind", *(["input shapes"] if shapes else []), "self", "share", "total", "mean", "count"]
        heads += [*(["flops"] if flops else []), *(head for _, head in memory)]
        return table("Name", heads, cells, 3 if shapes else 2)

    def __repr__(self) -> str:
        return as_text(self).rstrip("\n")


_MEMORY = (
    ("self_memory", "self mem"),
    ("memory", "mem"),
    ("self_device_memory", "self dev mem"),
    ("device_memory", "dev mem"),
)


def _memory_columns(rows: Sequence[OperatorRow]) -> list[tuple[str, str]]:
    """Those of the host if the trace has allocations, those of devices if one of them allocated."""
    names = {name for name, _ in _MEMORY if any(getattr(row, name) is not None for row in rows)}
    if not any(row.device_memory for row in rows):
        names -= {"self_device_memory", "device_memory"}
    return [(name, head) for name, head in _MEMORY if name in names]


def _bytes(number: int | None) -> str:
    return f.size(number) if number else ""


def as_text(drawn: RenderableType) -> str:
    """What a file of it contains: 100 columns, no colours, no spaces at the ends of lines."""
    text = StringIO()
    Console(file=text, width=_WIDTH, color_system=None, highlight=False, emoji=False).print(drawn)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def path_table(path: CriticalPath, most: int) -> Fitted:
    """The critical path by name."""
    rows = [
        [
            f.name(row.name, 70) or "-",
            row.kind,
            f.name(row.where, 24),
            f.time(row.time),
            f.percent(row.time, path.wall),
            f"{row.count:,}",
        ]
        for row in path.rows[:most]
    ]
    if rest := path.rows[most:]:
        time = sum(row.time for row in rest)
        pieces = f"{sum(row.count for row in rest):,}"
        rows.append([_more(rest), "", "", f.time(time), f.percent(time, path.wall), pieces])
    return table("Critical path", ("kind", "where", "time", "share", "pieces"), rows, 3)


def edits_table(result: BestEdits, most: int) -> Fitted:
    """The edits that save most, each alone, with the interval of what it saves."""
    rows = [
        [
            "* (all names)" if row.name == "*" else f.name(row.name, 70),
            row.edit,
            row.line or "-",
            f"{'at best ' if row.at_best else ''}{f.time(row.saved)}",
            f"{f.time(row.low)} to {f.time(row.high)}",
        ]
        for row in result.rows[:most]
    ]
    return table("Best edits, by replay", ("edit", "at", "saves", "between"), rows, 3)


def _more(rest: Sequence[object]) -> str:
    return f"{len(rest):,} more {'name' if len(rest) == 1 else 'names'}"
