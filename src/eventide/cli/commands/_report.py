"""`eventide report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json, NewestTrace, trace_or_newest

if TYPE_CHECKING:
    from eventide.analysis import Processes


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
    no_paths: Annotated[
        bool, typer.Option("--no-paths", help="Leave out the directories of files: only their names are shown.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Print one screen about a trace: how the time was spent, why devices were idle, what to improve first."""
    import eventide as et
    from eventide.report import (
        QUESTIONS,
        check_suffix,
        gather,
        plain,
        render_report,
        report_json,
        show_processes,
        write_report,
    )

    suffix = check_suffix(output) if output is not None else ""
    path = trace_or_newest(trace)
    with _output.progress(1 + len(QUESTIONS)) as step:
        step("reading")
        found = _processes(path)
        opened = et.open_trace(path)
        opened = opened.redacted(arguments=False) if no_paths else opened
        result = gather(opened, path.name, step)
    if output is not None:
        write_report(opened, result, output, ".json" if as_json else suffix, exact=exact)
    elif as_json:
        document = report_json(result)
        _output.print_json(document if found is None else {**document, "processes": plain(found)})
    else:
        if found is not None:
            show_processes(found, _output.stdout())
        _output.write_text(render_report(result))
    return 0


def _processes(path: Path) -> Processes | None:
    """The processes of a run, if `path` is the directory of one."""
    if not path.is_dir() or not any(path.glob("*.eventide")):
        return None
    from eventide.run import opened_with, recordings_of, summarized

    program, children = recordings_of(path)
    return summarized(opened_with(program, children), children, None)
