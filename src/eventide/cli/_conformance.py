"""`eventide conformance`: run the conformance kit on a device and show what came out."""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import eventide as et
from eventide.errors import UsageValueError
from eventide.testing.conformance import CHECKS, Check, Report


def select(words: str) -> tuple[Check, ...]:
    """The checks that have these words in their sentence, or check this promise."""
    found = tuple(check for check in CHECKS if words in check.name or words == check.promise)
    if not found:
        raise UsageValueError(f"no check has {words!r} in its name or promise; docs/semantics.md lists the promises")
    return found


def import_all(names: Sequence[str]) -> None:
    """Import what registers devices: modules by name, Python files, shared libraries."""
    for name in names:
        try:
            _import(name)
        except Exception as error:
            raise UsageValueError(f"importing {name!r} raised {type(error).__name__}: {error}") from error


def _import(name: str) -> None:
    if name.endswith(".so"):
        et.Device.load(name)
        return
    if not name.endswith(".py"):
        importlib.import_module(name)
        return
    spec = importlib.util.spec_from_file_location(Path(name).stem, Path(name).resolve(strict=True))
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def show_report(report: Report, console: Console) -> None:
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
