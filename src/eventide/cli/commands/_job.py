"""`eventide job import|report|stragglers|collectives|imbalance|critical-path|sql`: the traces of many ranks."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eventide.cli import _output
from eventide.cli._app import job_app
from eventide.cli._arguments import Json
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.jobs import JobReport

JobPath = Annotated[Path, typer.Argument(metavar="JOB", help="The directory that `eventide job import` made.")]
Rows = Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print of each table.")]


@job_app.command(name="import")
def import_(
    sources: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="One file for each rank, patterns, or directories of them.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The job's directory; what is there is kept.")],
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; default: one for each CPU.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Import on Dask: the address of its scheduler, for example tcp://host:8786.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Import the traces of all ranks into one directory, and check that their collectives fit each other.

    A second run continues where the first one was interrupted. Files that cannot be read are left out and named.
    """
    from eventide.jobs import align_job, import_job, open_job
    from eventide.report import plain

    with _output.counted("importing") as progress:
        done = import_job(list(sources), output, processes=processes, cluster=cluster, progress=progress)
    clocks = align_job(open_job(output)) if done.ranks > 1 else None
    if as_json:
        ranks = plain(list(clocks.ranks)) if clocks is not None else []
        _output.print_json({**plain(done), "clocks": ranks})
        return 0
    from eventide._util import format as f

    read = "all read now" if done.repeated else "nothing to read"
    if 0 < done.repeated < done.ranks + len(done.left_out):
        read = f"{done.repeated} read now"
    lines = [
        f"{done.path}: {f.count(done.ranks, 'rank')}, {f.count(done.spans, 'span')}, {read}; digest {done.digest[:16]}"
    ]
    if clocks is not None:
        worst = f"known to {f.time(clocks.worst)}" if clocks.worst is not None else "not known"
        lines.append(f"{f.count(len(clocks.matched.keys), 'collective')} matched; clocks {worst}")
    lines += [f"left out: {file}: {why}" for file, why in done.left_out]
    _output.write_text("\n".join(lines))
    return 0


def _answer(path: Path) -> "JobReport":
    from eventide.jobs import STEPS, answer, open_job

    with _output.progress(len(STEPS)) as step:
        return answer(open_job(path), step)


def _show(path: Path, as_json: bool, result: Callable[[Any], Any], render: Callable[[Any], list[Any]]) -> None:
    from rich.console import Group

    report = _answer(path)
    if as_json:
        _output.print_json(result(report))
    else:
        _output.write_text(Group(*render(report)))


@job_app.command()
def report(
    job: JobPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this .html, .txt or .json file instead of the terminal."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print one screen about a job: what stragglers cost, who was waited for and why, and what is not known."""
    from eventide.report import check_suffix
    from eventide.report.job import job_json, render_job, write_job

    if output is not None:
        check_suffix(output)
        write_job(_answer(job), output)
    else:
        _show(job, as_json, job_json, lambda found: [render_job(found)])


@job_app.command()
def stragglers(job: JobPath, rows: Rows = 20, as_json: Json = False) -> None:
    """How much faster without stragglers, and which rank, stage, step and operation explains it."""
    from eventide.report.job import share_tables, straggler_table, stragglers_json

    def render(found: Any) -> list[Any]:
        tables: list[Any] = [straggler_table(found.stragglers, found.waiting, rows)]
        for each in share_tables(found.stragglers.what_if, rows):
            tables += ["", each]
        return tables

    _show(job, as_json, lambda found: stragglers_json(found.stragglers), render)


@job_app.command()
def collectives(job: JobPath, rows: Rows = 20, as_json: Json = False) -> None:
    """The time of each collective, split into waiting and transfer; bandwidth by group and size."""
    from eventide.report import plain
    from eventide.report.job import bandwidth_table, wait_table, waiting_json

    def result(found: Any) -> Any:
        return {**waiting_json(found.waiting), "bandwidth": plain(list(found.bandwidth))}

    _show(
        job,
        as_json,
        result,
        lambda found: [wait_table(found.waiting, rows), "", bandwidth_table(found.bandwidth, rows)],
    )


@job_app.command()
def imbalance(job: JobPath, rows: Rows = 20, as_json: Json = False) -> None:
    """Computation by stage and by rank; this needs no clocks."""
    from eventide.jobs import imbalance as imbalance_of
    from eventide.jobs import open_job
    from eventide.report import plain
    from eventide.report.job import imbalance_table, stage_table

    with _output.progress(2) as step:
        step("reading")
        opened = open_job(job)
        step("imbalance")
        found = imbalance_of(opened)
    if as_json:
        _output.print_json(plain(found))
    else:
        _output.write_text(stage_table(found))
        _output.write_text(imbalance_table(found, rows))


@job_app.command()
def critical_path(job: JobPath, rows: Rows = 20, as_json: Json = False) -> None:
    """The chain of operations, across ranks, that determined the length of the job."""
    from eventide.report import plain
    from eventide.report.job import path_error, path_table

    def render(found: Any) -> list[Any]:
        return [path_table(found.critical_path, rows), f"{path_error(found.critical_path)}."]

    _show(job, as_json, lambda found: plain(found.critical_path), render)


@job_app.command()
def sql(
    job: JobPath,
    query: Annotated[
        str, typer.Argument(help="SELECT ... FROM steps, collectives, summary, clock, spans, tracks: each with `rank`")
    ],
    most: Annotated[int, typer.Option("--most", "-n", min=1, help="Rows to print; --json prints all.")] = 50,
    as_json: Json = False,
) -> None:
    """Query a job with SQL (DuckDB); only the files that the query names are read."""
    import duckdb

    from eventide.cli.commands._sql import distinct, plain_value, show_rows
    from eventide.jobs import open_job

    try:
        with _output.progress(2) as step:
            step("reading")
            opened = open_job(job)
            step("querying")
            answer = opened.sql(query)
            names, rows = distinct(answer.columns), answer.fetchall()
    except duckdb.Error as error:  # raised while the rows are computed
        raise UsageValueError(f"the query failed: {error}") from error
    if as_json:
        _output.print_json([dict(zip(names, map(plain_value, row), strict=True)) for row in rows])
    else:
        show_rows(names, rows, most, _output.stdout())
