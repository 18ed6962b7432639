"""`eventide trace sql`: any question to a trace, and its answer as a table."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from eventide.cli import _output
from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, trace_or_newest
from eventide.errors import UsageValueError

_GAP = 2  # columns of the terminal between two columns of the table


@trace_app.command()
def sql(
    trace: Annotated[
        str, typer.Argument(metavar="[TRACE]", help="A trace; default: the newest .eventide file in this folder.")
    ],
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY",
            help="SELECT ... FROM spans, instants, counters, edges, tracks, operations, stacks",
            show_default=False,
        ),
    ] = None,
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print; --json prints all.")] = 50,
    as_json: Json = False,
) -> None:
    """Query a trace with SQL (DuckDB). Each table has its row numbers as the column `id`."""
    if query is None:
        if Path(trace).exists():
            raise UsageValueError(f"the query is missing; use: eventide trace sql {trace} QUERY")
        names, rows = _answer(trace_or_newest(None), trace)
    else:
        names, rows = _answer(Path(trace), query)
    if as_json:
        _output.print_json([dict(zip(names, map(plain_value, row), strict=True)) for row in rows])
    else:
        show_rows(names, rows, most, _output.stdout())


def _answer(path: Path, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns, and all rows."""
    import duckdb

    import eventide as et

    with _output.progress(2) as step:
        step("reading")
        trace = et.open_trace(path)
        step("querying")
        try:
            answer = trace.sql(query)
            return distinct(answer.columns), answer.fetchall()
        except duckdb.Error as error:  # raised while the rows are computed
            raise UsageValueError(f"the query failed: {error}") from error


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


def show_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]], most: int, console: Console) -> None:
    """A table that fits the terminal; if its columns would be too narrow, a block for each row."""
    from eventide.report import fit

    cells = [[_text(value) for value in row] for row in rows[:most]]
    numbers = [any(isinstance(row[at], int | float) for row in rows[:most]) for at in range(len(names))]
    needed = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    available = console.width - _GAP * (len(names) - 1)
    widths = fit(needed, [at for at, number in enumerate(numbers) if not number], available)
    if sum(widths) <= available:
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
    """Numbers are aligned to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name, number, width in zip(names, numbers, widths, strict=True):
        side: JustifyMethod = "right" if number else "left"
        table.add_column(Text(name), justify=side, overflow="ellipsis", no_wrap=True, width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _block(names: Sequence[str], row: Sequence[str]) -> Table:
    """One or more lines for each column; nothing is cut."""
    block = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    block.add_column(overflow="fold", style="dim")
    block.add_column(overflow="fold")
    for name, cell in zip(names, row, strict=True):
        block.add_row(Text(f"  {name}"), Text(cell))
    return block


def plain_value(value: Any) -> Any:
    """Values that JSON cannot represent become text: nan, times, decimals."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
