"""`eventide trace summary|breakdown|idle|syncs|memory|compile|critical-path|compare|lint`: one analysis each."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eventide.cli import _output
from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, NewestTrace, TracePath, trace_or_newest

Rows = Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print of each table.")]


def _analyse(trace: Path | None, analyse: Callable[[Any], Any], render: Callable[[Any], Any], as_json: bool) -> Any:
    import eventide as et
    from eventide.report import plain

    path = trace_or_newest(trace)
    with _output.progress(2) as step:
        step("reading")
        opened = et.open_trace(path)
        step("analysing")
        result = analyse(opened)
    if as_json:
        _output.print_json(plain(result))
    else:
        _output.write_text(render(result))
    return result


@trace_app.command()
def summary(trace: NewestTrace = None, rows: Rows = 20, as_json: Json = False) -> None:
    """Total time by name, on devices and on the host; streams and threads."""
    from eventide import analysis
    from eventide.report import render_summary

    _analyse(trace, analysis.summary, lambda result: render_summary(result, rows), as_json)


@trace_app.command()
def breakdown(trace: NewestTrace = None, as_json: Json = False) -> None:
    """The time of each device, split into computation, communication, copies, overlap and idle; per step."""
    from eventide import analysis
    from eventide.report import render_breakdown

    _analyse(trace, analysis.breakdown, render_breakdown, as_json)


@trace_app.command()
def idle(
    trace: NewestTrace = None,
    by_stream: Annotated[bool, typer.Option("--by-stream", help="Gaps of each stream instead of each device.")] = False,
    rows: Rows = 15,
    as_json: Json = False,
) -> None:
    """Why devices were idle: every gap and its cause."""
    from eventide import analysis
    from eventide.report import render_idle

    by: Literal["device", "stream"] = "stream" if by_stream else "device"
    _analyse(trace, lambda opened: analysis.idle(opened, by), lambda result: render_idle(result, rows), as_json)


@trace_app.command()
def syncs(trace: NewestTrace = None, rows: Rows = 15, as_json: Json = False) -> None:
    """Each call that blocked the host until a device was done, what it waited for, and its cost."""
    from eventide import analysis
    from eventide.report import render_syncs

    _analyse(trace, analysis.syncs, lambda result: render_syncs(result, rows), as_json)


@trace_app.command()
def memory(trace: NewestTrace = None, rows: Rows = 10, as_json: Json = False) -> None:
    """The peak memory of each device, and what held it at that time."""
    from eventide import analysis
    from eventide.report import render_memory

    _analyse(trace, analysis.memory, lambda result: render_memory(result, rows), as_json)


@trace_app.command(name="compile")
def compile_(trace: NewestTrace = None, rows: Rows = 20, as_json: Json = False) -> None:
    """What was compiled, how often, and for how long."""
    from eventide import analysis
    from eventide.report import render_compile

    _analyse(trace, analysis.compiles, lambda result: render_compile(result, rows), as_json)


@trace_app.command()
def critical_path(
    trace: NewestTrace = None,
    step: Annotated[str | None, typer.Option(help="Only one step: its name or number.")] = None,
    rows: Rows = 20,
    as_json: Json = False,
) -> None:
    """The chain of work that determined the length of the trace, and what would limit it next."""
    from eventide import analysis
    from eventide.report import render_path

    analyse = lambda opened: analysis.critical_path(opened, step)  # noqa: E731
    _analyse(trace, analyse, lambda result: render_path(result, rows), as_json)


@trace_app.command()
def compare(before: TracePath, after: TracePath, rows: Rows = 10, as_json: Json = False) -> None:
    """What explains the difference between two traces."""
    import eventide as et
    from eventide import analysis
    from eventide.report import render_comparison

    other = et.open_trace(after)
    analyse = lambda opened: analysis.compare(opened, other)  # noqa: E731
    _analyse(before, analyse, lambda result: render_comparison(result, rows), as_json)


@trace_app.command()
def lint(trace: NewestTrace = None, as_json: Json = False) -> int:
    """Defects of a trace file: spans that do not nest, work without launch, clocks that disagree, losses."""
    from eventide import analysis
    from eventide.report import render_lint

    return 1 if _analyse(trace, analysis.lint, render_lint, as_json).findings else 0
