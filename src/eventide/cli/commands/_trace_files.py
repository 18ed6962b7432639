"""`eventide trace convert|sql`: trace files in other formats, and any question in SQL."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, trace_app

_IN = "A trace: .json, .json.gz, .eventide, .parquet, .pftrace."
_OUT = "Where to: .pftrace (to view), .json or .json.gz (for other tools), .parquet (to keep)."
TraceIn = Annotated[Path, typer.Argument(help=_IN)]
TraceOut = Annotated[Path, typer.Argument(help=_OUT)]
Query = Annotated[
    str, typer.Argument(help="SELECT ... FROM spans, instants, counters, edges, tracks, operations, stacks")
]
Most = Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print; --json prints all.")]


@trace_app.command()
def convert(source: TraceIn, target: TraceOut, as_json: Json = False) -> int:
    """Write a trace in another format; the suffix says which."""
    from eventide.cli import _trace_files

    with _output.progress(2) as step:
        made = _trace_files.convert(source, target, step)
    if as_json:
        _output.print_json(made)
    else:
        _trace_files.show_conversion(made, _output.stdout())
    return 0


@trace_app.command()
def sql(trace: TraceIn, query: Query, most: Most = 50, as_json: Json = False) -> int:
    """Ask a trace in SQL (DuckDB); each table has its row numbers as the column `id`."""
    from eventide.cli import _trace_files

    with _output.progress(2) as step:
        names, rows = _trace_files.ask(trace, query, step)
    if as_json:
        _output.print_json(_trace_files.as_objects(names, rows))
    else:
        _trace_files.show_rows(names, rows, most, _output.stdout())
    return 0
