"""`eventide trace summary|breakdown|idle|syncs|memory|compile|critical-path|compare`: one question each."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from eventide.cli import _output
from eventide.cli._app import Json, trace_app

TracePath = Annotated[Path, typer.Argument(help="A trace: .json, .json.gz, .eventide, .parquet, .pftrace.")]
Most = Annotated[int, typer.Option("--most", "-n", min=1, help="Rows of each table.")]


def _answer(trace: Path, ask: Callable[[Any], Any], render: Callable[[Any], Any], as_json: bool) -> int:
    import eventide as et
    from eventide.report import plain

    with _output.progress(2) as step:
        step("reading")
        opened = et.open_trace(trace)
        step("answering")
        result = ask(opened)
    if as_json:
        _output.print_json(plain(result))
    else:
        _output.write_text(render(result))
    return 0


@trace_app.command()
def summary(trace: TracePath, most: Most = 20, as_json: Json = False) -> int:
    """What took time, by name: on devices and on the host; streams, threads."""
    from eventide import analysis
    from eventide.report import render_summary

    return _answer(trace, analysis.summary, lambda result: render_summary(result, most), as_json)


@trace_app.command()
def breakdown(trace: TracePath, as_json: Json = False) -> int:
    """Where each device's time went: computation, communication, copies, overlap, idle; per step."""
    from eventide import analysis
    from eventide.report import render_breakdown

    return _answer(trace, analysis.breakdown, render_breakdown, as_json)


@trace_app.command()
def idle(
    trace: TracePath,
    by_stream: Annotated[
        bool, typer.Option("--by-stream", help="The gaps of each stream, not of each device.")
    ] = False,
    most: Most = 15,
    as_json: Json = False,
) -> int:
    """Why devices had nothing to do: every gap and its cause."""
    from eventide import analysis
    from eventide.report import render_idle

    by = "stream" if by_stream else "device"
    return _answer(trace, lambda opened: analysis.idle(opened, by), lambda result: render_idle(result, most), as_json)


@trace_app.command()
def syncs(trace: TracePath, most: Most = 15, as_json: Json = False) -> int:
    """Each time the host blocked until a device was done, what it waited for, and what that cost."""
    from eventide import analysis
    from eventide.report import render_syncs

    return _answer(trace, analysis.syncs, lambda result: render_syncs(result, most), as_json)


@trace_app.command()
def memory(trace: TracePath, most: Most = 10, as_json: Json = False) -> int:
    """The peak of each device's memory, and who held it then."""
    from eventide import analysis
    from eventide.report import render_memory

    return _answer(trace, analysis.memory, lambda result: render_memory(result, most), as_json)


@trace_app.command(name="compile")
def compile_(trace: TracePath, most: Most = 20, as_json: Json = False) -> int:
    """What was compiled, how often, and for how long."""
    from eventide import analysis
    from eventide.report import render_compile

    return _answer(trace, analysis.compiles, lambda result: render_compile(result, most), as_json)


@trace_app.command()
def critical_path(
    trace: TracePath,
    step: Annotated[str | None, typer.Option(help="One step alone: its name or number.")] = None,
    most: Most = 20,
    as_json: Json = False,
) -> int:
    """What the end of the trace was waiting for, back to its start; and what would be next."""
    from eventide import analysis
    from eventide.report import render_path

    ask = lambda opened: analysis.critical_path(opened, step)  # noqa: E731
    return _answer(trace, ask, lambda result: render_path(result, most), as_json)


@trace_app.command()
def compare(before: TracePath, after: TracePath, most: Most = 10, as_json: Json = False) -> int:
    """What explains the difference of two traces."""
    import eventide as et
    from eventide import analysis
    from eventide.report import render_comparison

    with_ = et.open_trace(after)
    ask = lambda opened: analysis.compare(opened, with_)  # noqa: E731
    return _answer(before, ask, lambda result: render_comparison(result, most), as_json)
