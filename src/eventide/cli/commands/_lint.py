"""`eventide trace lint`."""

from eventide.cli import _output
from eventide.cli._app import Json, trace_app
from eventide.cli.commands._answers import TracePath


@trace_app.command()
def lint(trace: TracePath, as_json: Json = False) -> int:
    """What is odd about a trace file: slices that do not nest, work without launch, clocks that disagree, losses."""
    import eventide as et
    from eventide import analysis
    from eventide.report import plain, render_lint

    with _output.progress(2) as step:
        step("reading")
        opened = et.open_trace(trace)
        step("checking")
        result = analysis.lint(opened)
    if as_json:
        _output.print_json(plain(result))
    else:
        _output.write_text(render_lint(result))
    return 1 if result.findings else 0
