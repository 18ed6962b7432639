"""`eventide report`."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, app
from eventide.errors import UsageValueError


@app.command()
def report(
    trace: Annotated[
        Path, typer.Argument(help="A trace: torch.profiler's .json or .json.gz, .eventide, .parquet, .pftrace.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this .txt or .json file instead.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Say what a trace shows: where the time went, why devices were idle, what to do next. One screen."""
    import eventide as et
    from eventide.report import QUESTIONS, findings, gather, plain, render_report, unknowns

    suffix = output.suffix.lower() if output is not None else ""
    if output is not None and suffix not in {".txt", ".json"}:
        what = (
            "the HTML page is not there yet"
            if suffix in {".html", ".htm"}
            else f"a report cannot be {suffix or 'that'}"
        )
        raise UsageValueError(f"{what}: {str(output)!r}; give a .txt or a .json, or no --output for the terminal")
    with _output.progress(1 + len(QUESTIONS)) as step:
        step("reading")
        opened = et.open_trace(trace)
        result = gather(opened, trace.name, step)
    if as_json or suffix == ".json":
        whole = {"findings": plain(findings(result)), "not_known": unknowns(result), **plain(_brief(result))}
        if output is None:
            _output.print_json(whole)
        else:
            _output.write_json(whole, output)
    else:
        _output.write_text(render_report(result), output)
    return 0


def _brief(result: object) -> dict[str, object]:
    """Without the tables of single gaps, pieces and calls; the commands of `eventide trace` have those."""
    import dataclasses

    from eventide.report import Report

    assert isinstance(result, Report)  # noqa: S101 - for the type checker
    whole = {each.name: getattr(result, each.name) for each in dataclasses.fields(result)}
    whole["idle"] = {"lanes": result.idle.lanes, "worst": result.idle.worst(20)}
    path = result.path
    whole["critical_path"] = {"wall": path.wall, "kinds": path.kinds, "rows": path.rows[:50], "next": path.next[:20]}
    del whole["path"]
    whole["syncs"] = {"count": result.syncs.count, "total": result.syncs.total, "table": result.syncs.table}
    memory = [
        {"device": each.device, "peak": each.peak, "holders": each.holders[:20]} for each in result.memory.devices
    ]
    whole["memory"] = memory
    return whole
