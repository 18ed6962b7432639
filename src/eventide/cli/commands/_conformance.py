"""`eventide conformance`."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, app
from eventide.errors import UsageValueError


@app.command()
def conformance(  # noqa: PLR0917 - typer makes options of them
    device: Annotated[str, typer.Option(help="The device, such as 'cpu' or 'mine:1'.")],
    save: Annotated[Path | None, typer.Option(help="Add the row to this Markdown table.")] = None,
    only: Annotated[str, typer.Option(help="Only checks with these words, or of this promise.")] = "",
    limit: Annotated[float, typer.Option(min=0.1, help="Seconds after which a check counts as stuck.")] = 20.0,
    modules: Annotated[
        list[str] | None, typer.Option("--import", help="Import this module, .py or .so first: it brings the device.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check that a device does what the runtime promises, whoever wrote it."""
    from eventide.cli import _conformance
    from eventide.testing.conformance import CHECKS, run

    _conformance.import_all(modules or ())
    if save is not None and save.is_dir():
        raise UsageValueError(f"{save} is a directory; name a Markdown file, such as verified.md")
    checks = _conformance.select(only) if only else CHECKS
    with _output.progress(len(checks)) as step:
        report = run(device, checks=checks, limit=limit, step=step)
    if save is not None:
        report.save(save)
    if as_json:
        _output.print_json(report)
    else:
        _conformance.show_report(report, _output.stdout())
    return 1 if report.failed else 0
