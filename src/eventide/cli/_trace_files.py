"""`eventide trace convert` and `eventide trace sql`: what they do, and how that looks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import eventide as et
from eventide.cli._output import Step
from eventide.report import fit

_GAP = 2  # between columns


@dataclass(frozen=True)
class Conversion:
    """One trace in two files."""

    source: str
    target: str
    source_bytes: int
    target_bytes: int
    rows: dict[str, int]  # of each table
    warnings: list[str]  # of the reading


def convert(source: Path, target: Path, step: Step) -> Conversion:
    """Read one, write the other."""
    step("reading")
    trace = et.open_trace(source)
    step("writing")
    trace.save(target)
    rows = {name: table.num_rows for name, table in trace.tables.items()}
    return Conversion(str(source), str(target), size(source), size(target), rows, trace.metadata["warnings"])


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a directory."""
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def show_conversion(made: Conversion, console: Console) -> None:
    """Two lines: what is in it, and how large it is now."""
    held = ", ".join(f"{count:,} {name}" for name, count in made.rows.items() if count)
    console.print(f"{escape(made.target)}: {held or 'nothing'}", soft_wrap=True)
    times = (
        f", {made.source_bytes / made.target_bytes:.1f} times smaller" if made.target_bytes < made.source_bytes else ""
    )
    console.print(f"{made.target_bytes:,} bytes (from {made.source_bytes:,}{times})", soft_wrap=True)
    for warning in made.warnings:
        console.print(f"warning: {escape(warning)}", soft_wrap=True)


def ask(path: Path, query: str, step: Step) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns, and all rows."""
    import duckdb

    step("reading")
    trace = et.open_trace(path)
    step("asking")
    try:
        answer = trace.sql(query)
        return distinct(answer.columns), answer.fetchall()
    except duckdb.Error as error:  # what is only found out while it runs
        raise et.UsageValueError(f"the query failed: {error}") from error


def distinct(names: Sequence[str]) -> list[str]:
    """a, a_1, A_2 for a, a, A: as DuckDB names the columns of a subquery, where case makes no difference."""
    taken: dict[str, int] = {}
    made = []
    for name in names:
        new, count = name, taken.get(name.lower(), 0)
        while new.lower() in taken:
            new, count = f"{name}_{count}", count + 1
        taken[name.lower()] = max(count, 1)
        taken.setdefault(new.lower(), 1)
        made.append(new)
    return made


def as_objects(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """A row is an object, of what JSON can hold."""
    return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]


def show_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]], most: int, console: Console) -> None:
    """A table as wide as the terminal; where that would leave too little of its columns, a block for each row."""
    cells = [[_text(value) for value in row] for row in rows[:most]]
    numbers = [any(isinstance(row[at], int | float) for row in rows[:most]) for at in range(len(names))]
    needed = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    room = console.width - _GAP * (len(names) - 1)
    widths = fit(needed, [at for at, number in enumerate(numbers) if not number], room)
    if sum(widths) <= room:
        console.print(_table(names, cells, numbers, widths))
    else:
        for count, row in enumerate(cells, 1):
            console.print(f"row {count}", style="bold")
            console.print(_block(names, row))
    if len(rows) > most:
        console.print(f"{most:,} of {len(rows):,} rows; --most {len(rows)} prints all")


def _table(
    names: Sequence[str], cells: Sequence[Sequence[str]], numbers: Sequence[bool], widths: Sequence[int]
) -> Table:
    """Numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name, number, width in zip(names, numbers, widths, strict=True):
        side: JustifyMethod = "right" if number else "left"
        table.add_column(Text(name), justify=side, overflow="ellipsis", no_wrap=True, width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _block(names: Sequence[str], row: Sequence[str]) -> Table:
    """A line for each column, or several: nothing is left out."""
    block = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    block.add_column(overflow="fold", style="dim")
    block.add_column(overflow="fold")
    for name, cell in zip(names, row, strict=True):
        block.add_row(Text(f"  {name}"), Text(cell))
    return block


def _plain(value: Any) -> Any:
    """What JSON has no word for is text: nan, times, decimals."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
