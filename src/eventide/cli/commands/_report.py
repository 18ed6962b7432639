"""`eventide report`."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json, NewestTrace, trace_or_newest


@app.command()
def report(
    trace: NewestTrace = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this .html, .txt or .json file instead of the terminal."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Keep every nanosecond and argument in the page, however large it is.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Print one screen about a trace: how the time was spent, why devices were idle, what to improve first."""
    import eventide as et
    from eventide.report import QUESTIONS, check_suffix, gather, render_report, report_json, write_report

    suffix = check_suffix(output) if output is not None else ""
    path = trace_or_newest(trace)
    with _output.progress(1 + len(QUESTIONS)) as step:
        step("reading")
        opened = et.open_trace(path)
        result = gather(opened, path.name, step)
    if output is not None:
        write_report(opened, result, output, ".json" if as_json else suffix, exact=exact)
    elif as_json:
        _output.print_json(report_json(result))
    else:
        _output.write_text(render_report(result))
    return 0
