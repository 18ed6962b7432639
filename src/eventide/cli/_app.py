"""The application that commands attach to, each from its own file in commands/."""

from typing import Annotated

import typer

import eventide as et

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Streams and events on any device: run and record programs, check them, and analyse traces.",
    epilog="Exit codes: 0 success, 1 findings, 2 wrong usage or an error.",
)
trace_app = typer.Typer(help="Analyse, convert and recover trace files.", no_args_is_help=True)
app.add_typer(trace_app, name="trace")
job_app = typer.Typer(help="Many ranks: import the traces of a job, and compare its ranks.", no_args_is_help=True)
app.add_typer(job_app, name="job")


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"eventide {et.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
