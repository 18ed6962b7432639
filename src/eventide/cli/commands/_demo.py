"""`eventide demo`."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, app
from eventide.errors import UsageValueError


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; each further run takes the next.")] = 0,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for demo.eventide and demo.pftrace.")] = Path(),
    as_json: Json = False,
) -> int:
    """Train a small network with overlapped loading: what two streams gain, and what one missing wait costs."""
    from eventide.cli.demo import _measure

    if not output.is_dir():
        raise UsageValueError(f"{output} is no directory to save the recording in; make it first")
    with _output.progress(_measure.steps(runs)) as step:
        result = _measure.demo(runs, seed, output, step)
    if as_json:
        _output.print_json(result)
    else:
        from eventide.cli.demo import _text  # brings numpy; see demo/_record

        _text.show_demo(result, _output.stdout())
    return 1 if result.findings else 0
