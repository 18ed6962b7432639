"""`eventide check`: a program under the sanitizer, a stored trace, or a program as data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json, ProgramCommand, trace_or_newest
from eventide.cli._files import require_file
from eventide.errors import EventideError, UsageValueError

if TYPE_CHECKING:
    from eventide.run import Ended
    from eventide.sanitizer import Finding, Findings, Suppression
    from eventide.trace import Trace


@dataclass(frozen=True)
class _Options:
    predict: bool
    leaks: bool
    stdout_to_stderr: bool  # the program prints to stderr: stdout is for the JSON document
    rules: tuple[Suppression, ...]
    folder: Path  # for what the program leaves: its reports, and a recording for the page
    page: bool


@dataclass(frozen=True)
class _Checked:
    """The findings, and how the program ended if one was run."""

    findings: Findings
    ended: Ended | None = None
    note: str = ""  # why the verdict is incomplete
    verdict: str = ""  # of a program as data: the word that check_program returns
    title: str = ""
    trace: Trace | None = None  # whose findings these are


@app.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
def check(  # noqa: PLR0917 - typer turns the parameters into options
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT [ARGS] | TRACE | PROGRAM",
            help="A Python script, a trace, or a program as JSON; default: the newest .eventide file in this folder.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[str, typer.Option("-m", metavar="MODULE", help="Check a module, run as python -m does.")] = "",
    predict: Annotated[
        bool, typer.Option("--predict", help="Ignore the order between host threads: report possible races, too.")
    ] = False,
    leaks: Annotated[bool, typer.Option("--leaks", help="Report memory that was never freed, too.")] = False,
    waste: Annotated[
        bool, typer.Option("--waste", help="Exit with 1 on redundant waits and synchronizations, too.")
    ] = False,
    allow_unchecked: Annotated[
        bool, typer.Option("--allow-unchecked", help="Exit with 0 if no access was known, so that nothing was checked.")
    ] = False,
    suppress: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Suppressions; default: those of pyproject.toml.")
    ] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings to a SARIF file, too.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Write the findings as a page, too.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Find races, wrong lifetimes and needless waits, with both places in the code and the smallest fix.

    A script runs unchanged in its own interpreter. The exit code is 1 if something is wrong, otherwise the script's.
    What is only redundant is reported; it changes the exit code with --waste. "Not checkable" is no success: without
    --allow-unchecked a script that ends with 0, or a trace, gives 1.
    """
    from eventide.run import end_like
    from eventide.sanitizer import load_suppressions

    if output is not None and output.suffix.lower() not in {".html", ".htm"}:
        raise UsageValueError(f"findings are written as a page, so {str(output)!r} must end in .html")
    rules = load_suppressions(suppress)
    with tempfile.TemporaryDirectory(prefix="eventide-check-") as folder:
        options = _Options(predict, leaks, as_json, rules, Path(folder), output is not None)
        checked = _check(target or [], module, options)
        if output is not None:
            _write_page(checked, output)
    _write(checked, sarif, as_json)
    _output.flush()
    if checked.findings.faults or (waste and checked.findings):
        return 1
    code = end_like(checked.ended) if checked.ended is not None else 0
    unchecked = checked.findings.verdict == "not checkable" and not checked.verdict
    return 1 if unchecked and not code and not allow_unchecked else code


def _check(target: Sequence[str], module: str, options: _Options) -> _Checked:
    if module:
        return _check_program_run(["-m", module, *target], options)
    if not target:
        return _check_file(trace_or_newest(None), options)
    if not target[0]:
        raise UsageValueError("name what to check: eventide check script.py, eventide check -m module, or a trace")
    require_file(target[0], "check")
    path = Path(target[0])
    if path.is_file() and path.suffix in {".py", ".pyw", ""}:
        return _check_program_run(target, options)
    if len(target) > 1:
        raise UsageValueError(f"{path} is not a Python script, so it takes no arguments; got {target[1]}")
    return _check_file(path, options)


def _check_program_run(command: Sequence[str], options: _Options) -> _Checked:
    """Run `python COMMAND...` in its own interpreter and collect the reports of it and of the programs it starts.

    For a page it is recorded too. The work items of a finding are those of one process, so that only the recording of a
    program that is alone can show them.
    """
    from eventide.run import Settings, launch

    words = [word for word in ("predict", "leaks") if getattr(options, word)]
    _output.flush()
    variables = {"EVENTIDE_SANITIZE": ",".join(["1", *words]), "EVENTIDE_SANITIZE_REPORT": str(options.folder)}
    recording = options.folder / "run.eventide"
    if options.page:
        variables |= Settings(str(recording), sample_ms=0.0, torch=()).to_environment()
    ended = launch(command, variables, stdout_to_stderr=options.stdout_to_stderr)
    reports = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(options.folder.glob("*.json"))}
    note = ""
    if str(ended.pid) not in reports:
        note = "the program left no report: it ended at once, or runs Python with -I, -E or -S"
        if ended.code:
            note = f"the program ended before it could report: {ended.describe()}"
    trace = _recorded(recording) if list(reports) == [str(ended.pid)] else None
    return _Checked(_merged(list(reports.values()), options), ended, note, title=" ".join(command), trace=trace)


def _recorded(recording: Path) -> Trace | None:
    """The recording of a program that was checked; None if there is none, as where the program ended at once."""
    from eventide.trace import open_trace

    try:
        return open_trace(recording)
    except (OSError, EventideError):
        return None


def _check_file(path: Path, options: _Options) -> _Checked:
    """A trace, or a program as data."""
    from eventide.sanitizer import Coverage, check_program_findings, check_trace, judge, verdict
    from eventide.trace import open_trace

    program = _program_in(path)
    if program is not None:
        found = check_program_findings(program, predict=options.predict)
        works = sum(step.get("op") == "work" for step in program.get("ops", program.get("steps", ())))
        judged = judge(found, Coverage(works, works), options.rules)
        return _Checked(judged, verdict=verdict(judged.found), title=path.name)
    trace = open_trace(path)
    found_in_trace = check_trace(trace, predict=options.predict, leaks=options.leaks, rules=options.rules)
    return _Checked(found_in_trace, title=path.name, trace=trace)


def _program_in(path: Path) -> dict[str, Any] | None:
    """The program, if the file contains one: JSON with "ops"."""
    if path.suffix != ".json" or path.stat().st_size > 1 << 24:
        return None
    text = path.read_text("utf-8", "replace")
    try:
        document = json.loads(text)
    except ValueError as error:
        if '"ops"' in text and '"traceEvents"' not in text:
            raise UsageValueError(f"{path} is a program, but not valid JSON: {error}") from error
        return None  # perhaps a trace without its end, which open_trace reads
    members = [one for one in document if isinstance(one, dict)] if isinstance(document, list) else []
    if any("ops" in one for one in members):
        raise UsageValueError(
            f"{path} is a list of {len(members)} programs; give eventide check a file with one of them, "
            "or each to eventide.sanitizer.check_program"
        )
    if any("op" in one for one in members):
        raise UsageValueError(f'{path} is a list of steps; a program has them under "ops": {{"ops": [...]}}')
    if isinstance(document, dict) and not document.keys() & {"ops", "steps", "traceEvents"}:
        raise UsageValueError(f'{path} is neither a program (it has no "ops") nor a trace (it has no "traceEvents")')
    return document if isinstance(document, dict) and ("ops" in document or "steps" in document) else None


def _merged(reports: Sequence[dict[str, Any]], options: _Options) -> Findings:
    """The findings of several processes as one list."""
    from eventide.sanitizer import Coverage, finding_from_json, judge

    found: list[Finding] = []
    names: dict[int, str] = {}
    totals = [0, 0, 0]
    unseen: dict[str, None] = {}
    for report in reports:
        found += [finding_from_json(item) for item in report["findings"]]
        names |= {int(stream): name for stream, name in report["stream_names"].items()}
        totals = [a + report["coverage"][key] for a, key in zip(totals, ("works", "known", "forgotten"), strict=True)]
        unseen |= dict.fromkeys(report["coverage"]["not_covered"])
    coverage = Coverage(totals[0], totals[1], totals[2], tuple(unseen))
    return judge(found, coverage, options.rules, names)


def _write_page(checked: _Checked, output: Path) -> None:
    from eventide.report import make_findings, write_whole

    write_whole(make_findings(checked.findings, checked.title, checked.trace), output)


def _write(checked: _Checked, sarif: Path | None, as_json: bool) -> None:
    import eventide as et
    from eventide.cli import _findings_text
    from eventide.sanitizer import findings_to_json, findings_to_sarif

    if sarif is not None:
        _output.write_json(findings_to_sarif(checked.findings, et.__version__), sarif)
    if as_json:
        more = {
            "note": checked.note,
            "program_exit_code": checked.ended.code if checked.ended is not None else 0,
            "program_verdict": checked.verdict or None,
        }
        _output.print_json({**findings_to_json(checked.findings), **more})
        return
    console = _output.stdout()
    if checked.note:
        console.print(f"[yellow]Note:[/yellow] {checked.note}.", soft_wrap=True)
    if checked.verdict:
        console.print(f"verdict: {checked.verdict}")
    _findings_text.show_findings(checked.findings, console)
