"""`eventide trace convert`: a trace in another format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from eventide._util import format as fmt
from eventide.cli import _output
from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, trace_or_newest

TARGET = (
    "The new file: .pftrace (for Perfetto), .json or .json.gz (for other tools), .parquet (to archive), "
    ".collapsed or .speedscope.json (sampled stacks)."
)


@dataclass(frozen=True)
class Conversion:
    """One trace in two files."""

    source: str
    target: str
    source_bytes: int
    target_bytes: int
    rows: dict[str, int]  # of each table
    warnings: list[str]  # of the reader


@trace_app.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="[SOURCE]", help="A trace; default: the newest .eventide file in this folder."),
    ],
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help=TARGET, show_default=False)] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out directories of files, arguments and command lines.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a trace in another format, selected by the suffix of TARGET."""
    trace, file = (trace_or_newest(None), source) if target is None else (source, target)
    made = _converted(trace, file, redact)
    if as_json:
        _output.print_json(made)
    else:
        _show(made, _output.stdout())


def _converted(source: Path, target: Path, redact: bool) -> Conversion:
    import eventide as et

    with _output.progress(2) as step:
        step("reading")
        trace = et.open_trace(source)
        step("writing")
        trace = trace.redacted() if redact else trace
        trace.save(target)
    rows = {name: table.num_rows for name, table in trace.tables.items()}
    return Conversion(str(source), str(target), _size(source), _size(target), rows, trace.metadata["warnings"])


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a directory."""
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def _show(made: Conversion, console: Console) -> None:
    """Two lines: the rows of each table, and the sizes."""
    console.print(f"{escape(made.target)}: {fmt.counts(made.rows)}", soft_wrap=True)
    times = (
        f", {made.source_bytes / made.target_bytes:.1f} times smaller" if made.target_bytes < made.source_bytes else ""
    )
    console.print(f"{made.target_bytes:,} bytes (from {made.source_bytes:,}{times})", soft_wrap=True)
    for warning in made.warnings:
        console.print(f"warning: {escape(warning)}", soft_wrap=True)
