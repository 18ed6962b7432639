"""`eventide trace what-if` and `eventide trace best-edits`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, NewestTrace, TracePath
from eventide.cli.commands._analyses import run_analysis
from eventide.errors import UsageValueError

Patterns = list[str] | None


def _many(name: str, text: str, metavar: str = "PATTERN") -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False)


@trace_app.command(name="what-if")
def what_if(  # noqa: PLR0917 - one parameter an option
    trace: TracePath,
    scale: Annotated[Patterns, _many("--scale", "It takes FACTOR times as long.", "PATTERN=FACTOR")] = None,
    remove: Annotated[Patterns, _many("--remove", "It does not run.")] = None,
    drop_wait: Annotated[bool, typer.Option("--drop-wait", help="No stream waits for an event.")] = False,
    drop_wait_of: Annotated[Patterns, _many("--drop-wait-of", "This work waits for no event.")] = None,
    drop_sync: Annotated[bool, typer.Option("--drop-sync", help="No call blocks the host.")] = False,
    drop_sync_of: Annotated[Patterns, _many("--drop-sync-of", "These calls do not block the host.")] = None,
    move: Annotated[Patterns, _many("--move", "It runs on this stream, or on a new one.", "PATTERN=STREAM")] = None,
    launch_cost: Annotated[float | None, typer.Option(help="Launching calls take so many times as long.")] = None,
    queue_depth: Annotated[int | None, typer.Option(help="So many works fit into the queue of a stream.")] = None,
    add_streams: Annotated[int | None, typer.Option(help="Spread the work of each stream over so many more.")] = None,
    faster_copies: Annotated[float | None, typer.Option(help="Copies are so many times as fast.")] = None,
    overlap: Annotated[Patterns, _many("--overlap", "The first runs beside the second.", "PATTERN=PATTERN")] = None,
    fuse: Annotated[Patterns, _many("--fuse", "Works in a row are launched as one.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the edited trace.")] = None,
    as_json: Json = False,
) -> None:
    """Predict the run with edits, applied in the order of this list. A pattern is a name, * and ? match any text."""
    from eventide import analysis
    from eventide.report import render_result

    edits = [analysis.scale(pattern, _number(value, "--scale")) for pattern, value in _pairs(scale, "--scale")]
    edits += [analysis.remove(pattern) for pattern in remove or ()]
    edits += [analysis.drop_wait(pattern) for pattern in [*(["*"] if drop_wait else []), *(drop_wait_of or ())]]
    edits += [analysis.drop_sync(pattern) for pattern in [*(["*"] if drop_sync else []), *(drop_sync_of or ())]]
    edits += [analysis.move(pattern, stream) for pattern, stream in _pairs(move, "--move")]
    one: list[tuple[Any, Callable[[Any], Any]]] = [
        (launch_cost, analysis.launch_cost),
        (queue_depth, analysis.queue_depth),
        (add_streams, analysis.add_streams),
        (faster_copies, analysis.faster_copies),
    ]
    edits += [make(value) for value, make in one if value is not None]
    edits += [analysis.overlap(first, second) for first, second in _pairs(overlap, "--overlap")]
    edits += [analysis.fuse(pattern) for pattern in fuse or ()]
    if not edits:
        raise UsageValueError("no edit given; for example --scale 'gemm*=0.5' or --drop-sync (see --help)")
    found = run_analysis(trace, lambda opened: analysis.what_if(opened, *edits), render_result, as_json)
    if output is not None:
        found.trace.save(output)


def _pairs(given: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """PATTERN=VALUE, cut at the last =."""
    found = []
    for text in given or ():
        pattern, sign, value = text.rpartition("=")
        if not sign or not pattern or not value:
            raise UsageValueError(f"{option} {text!r} has no value; write it as PATTERN=VALUE")
        found.append((pattern, value))
    return found


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageValueError(f"{option} needs a number after =, not {text!r}") from None


@trace_app.command(name="best-edits")
def best_edits(
    trace: NewestTrace = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")] = 10,
    as_json: Json = False,
) -> None:
    """The edits that save most, found by replaying each that the trace suggests."""
    from eventide import analysis
    from eventide.report import render_result

    run_analysis(trace, lambda opened: analysis.best_edits(opened, count), lambda r: render_result(r, count), as_json)
