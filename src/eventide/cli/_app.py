"""The application that commands attach themselves to, each from a file of its own (`_command_*.py`)."""

from pathlib import Path
from typing import Annotated

import typer

import eventide as et
from eventide.errors import UsageValueError

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Streams and events on any device, and what exactly happened on them.",
    epilog="Exit code: 0 fine, 1 findings, 2 misuse.",
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
trace_app = typer.Typer(help="Look at, convert and repair trace files.", no_args_is_help=True)
app.add_typer(trace_app, name="trace")


def check_script(script: str, command: str) -> None:
    """Nobody can run a file that is not there; a name that may be a module's is worth a hint."""
    if Path(script).exists():
        return
    parts = script.split(".")
    module = all(part.isidentifier() for part in parts) and parts[-1] not in {"py", "eventide", "json", "pftrace"}
    hint = f"; to {command} a module, write: eventide {command} -m {script}" if module else "; give the path of one"
    raise UsageValueError(f"there is no file {script}{hint}")


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"eventide {et.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
