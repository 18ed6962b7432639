"""`eventide demo`."""

from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, app


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; each further run takes the next.")] = 0,
    as_json: Json = False,
) -> int:
    """Train a small network with overlapped loading: what two streams gain, and what one missing wait costs."""
    from eventide.cli import _demo, _demo_text

    with _output.progress(_demo.steps(runs)) as step:
        result = _demo.demo(runs, seed, step)
    if as_json:
        _output.print_json(result)
    else:
        _demo_text.show_demo(result, _output.stdout())
    return 1 if result.findings else 0
