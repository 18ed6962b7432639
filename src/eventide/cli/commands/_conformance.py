"""`eventide conformance`: run the conformance kit on a device and print the result."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import eventide as et
from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.testing.conformance import Check, Report


@app.command()
def conformance(  # noqa: PLR0917 - typer turns the parameters into options
    device: Annotated[str, typer.Option(help="The device, such as 'cpu' or 'mine:1'.")],
    save: Annotated[Path | None, typer.Option(help="Add the result as a row to this Markdown table.")] = None,
    only: Annotated[
        str, typer.Option(help="Run only the checks with this text in their name, or of this promise.")
    ] = "",
    limit: Annotated[float, typer.Option(min=0.1, help="Seconds after which a check has failed as hanging.")] = 20.0,
    modules: Annotated[
        list[str] | None,
        typer.Option("--import", help="First import this module, .py or .so file, which registers the device."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check that a device keeps the promises of the runtime (docs/semantics.md)."""
    from eventide.testing.conformance import CHECKS, run

    for name in modules or ():
        _import(name)
    if save is not None and save.is_dir():
        raise UsageValueError(f"{save} is a directory; name a Markdown file, such as verified.md")
    checks = _selected(CHECKS, only) if only else CHECKS
    with _output.progress(len(checks)) as step:
        report = run(device, checks=checks, limit=limit, step=step)
    if save is not None:
        report.save(save)
    if as_json:
        _output.print_json(report)
    else:
        _show(report, _output.stdout())
    return 1 if report.failed else 0


def _selected(checks: Sequence[Check], words: str) -> tuple[Check, ...]:
    """The checks that have these words in their name, or check this promise."""
    found = tuple(check for check in checks if words in check.name or words == check.promise)
    if not found:
        raise UsageValueError(f"no check has {words!r} in its name or promise; docs/semantics.md lists the promises")
    return found


def _import(name: str) -> None:
    """Import what registers a device: a module by name, a Python file, a shared library."""
    try:
        if name.endswith(".so"):
            et.Device.load(name)
        elif name.endswith(".py"):
            _import_file(Path(name))
        else:
            importlib.import_module(name)
    except Exception as error:
        raise UsageValueError(f"importing {name!r} raised {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve(strict=True))
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _show(report: Report, console: Console) -> None:
    """Print failures, skips by reason, the counts, and the row for the table of verified devices."""
    console.print(f"[bold]{escape(report.device)}[/bold], {escape(report.description)}, eventide {report.version}")
    table = Table.grid(padding=(0, 2))
    for outcome in report.failed:
        table.add_row("[red]failed[/red]", outcome.promise, escape(outcome.check))
        table.add_row("", "", f"[dim]{escape(outcome.why)}[/dim]")
    for why, count in report.skips.items():
        table.add_row("skipped", str(count), escape(why))
    if table.row_count:
        console.print(table)
    seconds = sum(outcome.seconds for outcome in report.outcomes)
    counts = f"{len(report.passed)} passed, {len(report.skipped)} skipped, {len(report.failed)} failed"
    console.print(f"{counts} in {seconds:.1f} s\n")
    console.print(escape(report.row()), soft_wrap=True)
