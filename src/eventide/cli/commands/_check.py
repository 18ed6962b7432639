"""`eventide check`."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, app, check_script
from eventide.errors import UsageValueError


@app.command(context_settings={"allow_interspersed_args": False})
def check(  # noqa: PLR0917 - typer makes options of them
    target: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS]... | TRACE | PROGRAM", help="A Python script, a trace, or program.json."),
    ] = None,
    module: Annotated[
        str, typer.Option("-m", metavar="MODULE", help="Check a module; its own options come after --.")
    ] = "",
    predict: Annotated[
        bool, typer.Option("--predict", help="Ignore how host threads hand over: tell what is possible.")
    ] = False,
    leaks: Annotated[bool, typer.Option("--leaks", help="Tell what was never given back, too.")] = False,
    suppress: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Suppressions; default: those of pyproject.toml.")
    ] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings as SARIF, too.")] = None,
    as_json: Json = False,
) -> int:
    """Is this stream program right? Races, lifetimes, waste, with both places in the code and the smallest fix.

    A script runs unchanged, in an interpreter of its own. The exit code is 1 if there are findings, else the script's.
    """
    import eventide as et
    from eventide.cli import _check, _findings_text
    from eventide.sanitizer import findings_to_json, findings_to_sarif, load_suppressions

    command = _check.script_command(target or [], module)
    options = _check.Options(predict, leaks, as_json, load_suppressions(suppress))
    if not module:
        check_script(command[0], "check")
    if module or (Path(command[0]).is_file() and Path(command[0]).suffix in {".py", ".pyw", ""}):
        checked = _check.check_script(command, options)
    elif len(command) > 1:
        raise UsageValueError(
            f"{command[0]} is no Python script, so it takes no arguments; got {command[1]}. "
            f"Options come first: eventide check --json {command[0]}"
        )
    else:
        checked = _check.check_file(Path(command[0]), options)
    if sarif is not None:
        _output.write_json(findings_to_sarif(checked.findings, et.__version__), sarif)
    if as_json:
        _output.print_json(
            {
                **findings_to_json(checked.findings),
                "note": checked.note,
                "program_exit_code": checked.code,
                "program_verdict": checked.verdict or None,
            }
        )
    else:
        console = _output.stdout()
        if checked.note:
            console.print(f"[yellow]Note:[/yellow] {checked.note}.", soft_wrap=True)
        if checked.verdict:
            console.print(f"verdict: {checked.verdict}")
        _findings_text.show_findings(checked.findings, console)
    return checked.exit_code
