"""`eventide demo`."""

import errno
from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json
from eventide.errors import TraceFileError


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; each further run uses the next number.")] = 0,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for its three files: demo.*")] = Path(),
    as_json: Json = False,
) -> int:
    """Train a small network while loading its data: the gain from two streams, and the damage of one missing wait."""
    from eventide.cli.demo import _measure

    if not output.is_dir():
        message = f"{output} is not a directory; create it first, the recording is saved there"
        raise TraceFileError(message, errno.ENOTDIR if output.exists() else errno.ENOENT, str(output))
    with _output.progress(_measure.steps(runs)) as step:
        result = _measure.demo(runs, seed, output, step)
    if as_json:
        _output.print_json(result)
    else:
        from eventide.cli.demo import _text  # imports numpy; see demo/_record

        _text.show_demo(result, _output.stdout())
    return 1 if result.findings else 0
