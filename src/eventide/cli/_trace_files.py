"""`eventide trace convert` and `eventide trace sql`: what they do, and how that looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import eventide as et
from eventide.cli._output import Step


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
        return list(answer.columns), answer.fetchall()
    except duckdb.Error as error:  # what is only found out while it runs
        raise et.UsageValueError(f"the query failed: {error}") from error


def show_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]], most: int, console: Console) -> None:
    """A table as wide as the terminal; numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, name in enumerate(names):
        numbers = any(isinstance(row[column], int | float) for row in rows[:most])
        table.add_column(escape(name), justify="right" if numbers else "left", overflow="ellipsis", no_wrap=True)
    for row in rows[:most]:
        table.add_row(*(escape(_text(value)) for value in row))
    console.print(table)
    if len(rows) > most:
        console.print(f"{most:,} of {len(rows):,} rows; --most {len(rows)} prints all")


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
