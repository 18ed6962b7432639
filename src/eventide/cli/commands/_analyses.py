"""`eventide trace summary|breakdown|idle|syncs|memory|compile|critical-path|compare|lint`: one analysis each."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eventide.cli import _output
from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, NewestTrace, TracePath, trace_or_newest
from eventide.errors import UsageValueError

Rows = Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print of each table.")]


def run_analysis(trace: Path | None, analyse: Callable[[Any], Any], render: Callable[[Any], Any], as_json: bool) -> Any:
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

    run_analysis(trace, analysis.summary, lambda result: render_summary(result, rows), as_json)


@trace_app.command()
def breakdown(trace: NewestTrace = None, as_json: Json = False) -> None:
    """The time of each device, split into computation, communication, copies, overlap and idle; per step."""
    from eventide import analysis
    from eventide.report import render_breakdown

    run_analysis(trace, analysis.breakdown, render_breakdown, as_json)


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
    run_analysis(trace, lambda opened: analysis.idle(opened, by), lambda result: render_idle(result, rows), as_json)


@trace_app.command()
def syncs(trace: NewestTrace = None, rows: Rows = 15, as_json: Json = False) -> None:
    """Each call that blocked the host until a device was done, what it waited for, and its cost."""
    from eventide import analysis
    from eventide.report import render_syncs

    run_analysis(trace, analysis.syncs, lambda result: render_syncs(result, rows), as_json)


@trace_app.command()
def memory(trace: NewestTrace = None, rows: Rows = 10, as_json: Json = False) -> None:
    """The peak memory of each device, and what held it at that time."""
    from eventide import analysis
    from eventide.report import render_memory

    run_analysis(trace, analysis.memory, lambda result: render_memory(result, rows), as_json)


@trace_app.command(name="compile")
def compile_(trace: NewestTrace = None, rows: Rows = 20, as_json: Json = False) -> None:
    """What was compiled, how often, and for how long."""
    from eventide import analysis
    from eventide.report import render_compile

    run_analysis(trace, analysis.compiles, lambda result: render_compile(result, rows), as_json)


@trace_app.command()
def critical_path(
    trace: NewestTrace = None,
    step: Annotated[str | None, typer.Option(help="Only one step: its name or number.")] = None,
    rows: Rows = 20,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the trace with the path as a row of its own, for a viewer."),
    ] = None,
    as_json: Json = False,
) -> None:
    """The chain of work that determined the length of the trace, and what would limit it next."""
    from eventide import analysis
    from eventide.report import render_path

    def analyse(opened: Any) -> Any:
        if output is not None:
            analysis.mark_critical_path(opened, step).save(output)
        return analysis.critical_path(opened, step)

    run_analysis(trace, analyse, lambda result: render_path(result, rows), as_json)


@trace_app.command()
def compare(  # noqa: PLR0917 - typer turns the parameters into options
    before: TracePath,
    after: TracePath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Write the comparison as a page.")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="LIMIT", help="Exit with 1 if a part takes that much longer: 'wall>5%', 'idle>2ms'."),
    ] = None,
    rows: Rows = 10,
    as_json: Json = False,
) -> int:
    """What explains the difference between two traces."""
    import eventide as et
    from eventide import analysis
    from eventide.report import check_suffix, make_comparison, render_comparison, write_whole

    limits = [analysis.Limit.parse(each) for each in fail_if or ()]
    if output is not None and check_suffix(output) != ".html":
        raise UsageValueError(f"a comparison is written as a page, so {str(output)!r} must end in .html")
    other = et.open_trace(after)
    analyse = lambda opened: analysis.compare(opened, other)  # noqa: E731
    result = run_analysis(before, analyse, lambda result: render_comparison(result, rows), as_json)
    if output is not None:
        write_whole(make_comparison(result, before.name, after.name), output)
    exceeded = [text for limit in limits if (text := limit.exceeded(result))]
    for text in exceeded:
        _output.stderr().print(text, markup=False, highlight=False, soft_wrap=True)
    return 1 if exceeded else 0


@trace_app.command()
def lint(trace: NewestTrace = None, as_json: Json = False) -> int:
    """Defects of a trace file: spans that do not nest, work without launch, clocks that disagree, losses."""
    from eventide import analysis
    from eventide.report import render_lint

    return 1 if run_analysis(trace, analysis.lint, render_lint, as_json).findings else 0
