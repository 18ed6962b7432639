"""`eventide run`: run a program unchanged, record it, and print a summary."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eventide.cli._app import app
from eventide.cli._arguments import ProgramCommand
from eventide.cli._attach_program import attach_program
from eventide.cli._run_program import TORCH_PARTS, check_report, run_program, torch_parts
from eventide.run import Settings


class Follow(StrEnum):
    """The values of --children."""

    yes = "yes"
    no = "no"


@app.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
def run(  # noqa: PLR0917 - typer turns the parameters into options
    program: Annotated[
        list[str] | None, typer.Argument(metavar="SCRIPT [ARGS]", help="The script and its arguments.")
    ] = None,
    module: Annotated[str, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The trace; its suffix selects the format. Default: NAME-DATE-TIME.eventide."
        ),
    ] = None,
    ring: Annotated[bool, typer.Option("--ring", help="Keep only the newest records; for jobs of hours.")] = False,
    sample: Annotated[float, typer.Option(min=0, max=1e9, help="Milliseconds between stack samples; 0: none.")] = 10.0,
    start_on: Annotated[
        str, typer.Option(metavar="SIGNAL", help="Start recording at this signal; a second one stops it.")
    ] = "",
    seconds: Annotated[
        float, typer.Option(min=0, max=1e9, help="Stop recording after so many seconds; 0: record to the end.")
    ] = 0.0,
    dump_on: Annotated[
        str, typer.Option(metavar="SIGNAL", help="Copy what is recorded so far at this signal, and continue.")
    ] = "",
    hang_seconds: Annotated[
        float | None,
        typer.Option(min=0.01, max=1e9, help="Copy it, too, after so many seconds without a record except samples."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(metavar="WAIT,WARMUP,ACTIVE[,REPEAT]", help="Record only these steps of torch's optimizer.")
    ] = "",
    torch: Annotated[
        str,
        typer.Option(
            metavar="WHAT,...", help="What to trace of torch: ops, shapes, flops, memory, modules, accesses; or none."
        ),
    ] = TORCH_PARTS,
    torch_seconds: Annotated[
        float,
        typer.Option(min=0, max=1e9, help="Limit of torch's own profiler, counted again from step 1; 0: no limit."),
    ] = 20.0,
    children: Annotated[
        Follow, typer.Option(help="Record child processes too, each into a file of its own.")
    ] = Follow.yes,
    pid: Annotated[
        int | None,
        typer.Option(min=1, help="Record this process, which already runs (Python 3.14), until Ctrl-C or its end."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the report of the recording as a page, too.")
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser; without --report it is beside the recording.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    as_json: Annotated[
        str,
        typer.Option(
            "--json", metavar="FILE", help="Write the summary as JSON to a file, or to an open descriptor: its number."
        ),
    ] = "",
) -> int:
    """Run a program unchanged and record it; the summary goes to stderr."""
    if pid is not None:
        settings = Settings(
            path="",
            ring=ring,
            sample_ms=sample,
            seconds=seconds,
            hang_seconds=hang_seconds,
            torch=torch_parts(torch),
            torch_seconds=torch_seconds,
        )
        given = {"a program": program, "-m": module, "--start-on": start_on, "--dump-on": dump_on}
        refused = [name for name, value in {**given, "--schedule": schedule}.items() if value]
        check_report(report)
        return attach_program(
            pid,
            settings,
            refused,
            output=output,
            report=report,
            open_browser=open_browser,
            quiet=quiet,
            as_json=as_json,
        )
    return run_program(
        program or [],
        module=module,
        output=output,
        ring=ring,
        sample=sample,
        start_on=start_on,
        seconds=seconds,
        dump_on=dump_on,
        hang_seconds=hang_seconds,
        schedule=schedule,
        torch=torch,
        torch_seconds=torch_seconds,
        children=children.value,
        report=report,
        open_browser=open_browser,
        quiet=quiet,
        as_json=as_json,
    )
