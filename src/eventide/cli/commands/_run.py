"""`eventide run`: run a program unchanged, record it, and print a summary."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import ProgramCommand, require_file
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.run import Result, Settings

# A program cannot handle the first two, and cannot continue after one of the others.
_NOT_HANDLED = {"SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}
TORCH_PARTS = "ops,modules"  # by default; torch_parts() imports the integration
_TRACES = {".eventide", ".pftrace", ".parquet", ".json"}


class Follow(StrEnum):
    """The values of --children."""

    yes = "yes"
    no = "no"


@app.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
def run(  # noqa: PLR0917 - typer turns the parameters into options
    program: Annotated[
        list[str] | None, typer.Argument(metavar="SCRIPT [ARGS]", help="The script and its arguments.")
    ] = None,
    module: Annotated[str, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The trace; its suffix selects the format. Default: NAME-DATE-TIME.eventide."
        ),
    ] = None,
    ring: Annotated[bool, typer.Option("--ring", help="Keep only the newest records; for jobs of hours.")] = False,
    sample: Annotated[float, typer.Option(min=0, max=1e9, help="Milliseconds between stack samples; 0: none.")] = 10.0,
    start_on: Annotated[
        str, typer.Option(metavar="SIGNAL", help="Start recording at this signal; a second one stops it.")
    ] = "",
    seconds: Annotated[
        float, typer.Option(min=0, max=1e9, help="Stop recording after so many seconds; 0: record to the end.")
    ] = 0.0,
    dump_on: Annotated[
        str, typer.Option(metavar="SIGNAL", help="Copy what is recorded so far at this signal, and continue.")
    ] = "",
    hang_seconds: Annotated[
        float | None,
        typer.Option(min=0.01, max=1e9, help="Copy it, too, after so many seconds without a record except samples."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(metavar="WAIT,WARMUP,ACTIVE[,REPEAT]", help="Record only these steps of torch's optimizer.")
    ] = "",
    torch: Annotated[
        str,
        typer.Option(metavar="WHAT,...", help="What to trace of torch: ops, shapes, flops, memory, modules; or none."),
    ] = TORCH_PARTS,
    torch_seconds: Annotated[
        float,
        typer.Option(min=0, max=1e9, help="Limit of torch's own profiler, counted again from step 1; 0: no limit."),
    ] = 20.0,
    children: Annotated[
        Follow, typer.Option(help="Record child processes too, each into a file of its own.")
    ] = Follow.yes,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the report of the recording as a page, too.")
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser; without --report it is beside the recording.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    as_json: Annotated[
        str,
        typer.Option(
            "--json", metavar="FILE", help="Write the summary as JSON to a file, or to an open descriptor: its number."
        ),
    ] = "",
) -> int:
    """Run a program unchanged and record it; the summary goes to stderr."""
    from eventide.run import (
        DiskFullError,
        Settings,
        clear,
        collect,
        end_like,
        folder_for,
        launch,
        recording_path,
        reserve,
    )

    command = _command(program or [], module)
    if report is not None and report.suffix.lower() != ".html":
        raise UsageValueError(f"--report writes a page, so {str(report)!r} must end in .html")
    settings = Settings(
        path="",
        ring=ring,
        sample_ms=sample,
        start_on=_signal_name("--start-on", start_on),
        seconds=seconds,
        dump_on=_signal_name("--dump-on", dump_on),
        hang_seconds=hang_seconds,
        schedule=_steps(schedule),
        torch=torch_parts(torch) if torch != TORCH_PARTS else tuple(TORCH_PARTS.split(",")),
        torch_seconds=torch_seconds,
    )
    _check_signals(settings)
    document = _Document(as_json)
    try:
        target = output or reserve(module or Path(command[0]).stem or Path(command[0]).resolve().name)
        try:
            settings = replace(settings, path=str(recording_path(target)))
            if children == Follow.yes and not settings.start_on:
                folder = folder_for(target, named=output is not None)
                clear(folder)
                settings = replace(settings, children=str(folder))
            signals = [name for name in (settings.start_on, settings.dump_on) if name]
            ended = launch(command, settings.to_environment(), signals=signals)
        finally:
            if output is None and not target.stat().st_size:  # nothing was recorded
                target.unlink()
    except DiskFullError as error:
        _output.say(f"eventide: not recording: {error}")
        return end_like(launch(command, {}))
    result = collect(ended, settings, target, named=output is not None, summarize=bool(as_json) or not quiet)
    document.write(result)
    with suppress(SystemExit):  # rich raises it if stderr is closed; the exit code remains that of the program
        _print(result, quiet)
    if report is not None or open_browser:
        _write_page(result, report, open_browser)
    _output.flush()
    return end_like(ended)


def _command(program: Sequence[str], module: str) -> list[str]:
    """The arguments of the interpreter."""
    if module:
        return ["-m", module, *program]
    if not any(program[:1]):
        raise UsageValueError("name the program to run: eventide run script.py, or eventide run -m module")
    require_file(program[0], "run")
    if Path(program[0]).suffix in _TRACES:
        raise UsageValueError(f"{program[0]} is not a program; to open a trace, use: eventide report {program[0]}")
    return list(program)


def _signal_name(option: str, given: str) -> str:
    """SIGUSR1 for "SIGUSR1", "usr1" and "10"."""
    if not given:
        return ""
    name = given.upper() if given.upper().startswith("SIG") else f"SIG{given.upper()}"
    numbers = {str(int(one)): one.name for one in signal.Signals}
    found = numbers.get(given, name)
    if found not in signal.Signals.__members__ or found in _NOT_HANDLED:
        raise UsageValueError(f"{option} {given} is not a signal that a program can handle; use one such as SIGUSR1")
    return found


def _check_signals(settings: Settings) -> None:
    if settings.start_on and settings.start_on == settings.dump_on:
        raise UsageValueError(f"--start-on and --dump-on are both {settings.dump_on}; use another signal for one")
    if settings.start_on and settings.schedule:
        raise UsageValueError("--start-on and --schedule both select when to record; use one of them")


def _steps(given: str) -> tuple[int, int, int, int] | None:
    """WAIT,WARMUP,ACTIVE[,REPEAT] as numbers."""
    if not given:
        return None
    parts = given.split(",")
    if len(parts) not in {3, 4} or not all(part.strip().isdecimal() for part in parts) or not int(parts[2]):
        raise UsageValueError(f"--schedule {given} is not WAIT,WARMUP,ACTIVE[,REPEAT]; 1,1,3 records the steps 2 to 4")
    wait, warmup, active, repeat = (*map(int, parts), 0)[:4]
    return wait, warmup, active, repeat


def torch_parts(given: str) -> tuple[str, ...]:
    """What to trace of torch; shapes, FLOPs and memory need the operators, modules do not."""
    from eventide.integrations.torch import CHOICES

    wanted = tuple(part.strip() for part in given.split(","))
    if wanted == ("none",):
        return ()
    if wrong := [part for part in wanted if part not in CHOICES]:
        raise UsageValueError(f"--torch {wrong[0]} is unknown; use some of {', '.join(CHOICES)}, or none")
    operators = () if set(wanted) <= {"modules"} else ("ops",)
    return tuple(dict.fromkeys((*operators, *wanted)))


class _Document:
    """The summary as JSON: to a file, or to a descriptor that the caller opened; checked before the program runs."""

    def __init__(self, given: str) -> None:
        self._to: int | Path | None = None
        try:
            if given.isdecimal():
                self._to = int(given)
                os.fstat(self._to)
                if self._to > 2:
                    os.set_inheritable(self._to, False)  # it is ours, not the program's
            elif given:
                self._to = Path(given)
                self._to.open("ab").close()
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageValueError(
                f"--json {given} cannot be written: {why}; name a file or an open descriptor"
            ) from error

    def write(self, result: Result) -> None:
        """A problem is a line on stderr: the exit code remains that of the program."""
        if self._to is None:
            return
        from eventide.report import plain

        text = json.dumps(plain(result), indent=2) + "\n"
        try:
            to = os.dup(self._to) if isinstance(self._to, int) else self._to  # stderr must stay open
            with open(to, "w", encoding="utf-8") as file:  # noqa: PTH123 - or a descriptor
                file.write(text)
        except OSError as error:
            _output.say(f"eventide: cannot write the summary as JSON: {error.strerror}; name another file")


def _write_page(result: Result, report: Path | None, open_browser: bool) -> None:
    """A problem is a line on stderr: the exit code remains that of the program."""
    if not result.files:
        _output.say("eventide: there is no page, because nothing was recorded")
        return
    import webbrowser

    import eventide as et

    recording = Path(result.files[0])
    page = report or recording.with_name(f"{recording.name.partition('.')[0]}.html")
    try:
        et.open_trace(recording).report(page, title=recording.name)
    except (et.EventideError, OSError) as error:
        _output.say(f"eventide: no page was written: {error}")
        return
    _output.say(f"eventide: the report is {page}")
    if open_browser and not webbrowser.open(page.absolute().as_uri()):
        _output.say(f"eventide: no browser could be started; open {page.absolute()} yourself")


def _print(result: Result, quiet: bool) -> None:
    if result.problem:
        _output.say(f"eventide: {result.problem}")
    if not quiet and result.summary is not None:
        from eventide.report import show_processes, show_run

        ended = result.ended
        if result.processes is not None:
            show_processes(result.processes, _output.stderr())
        show_run(
            result.summary,
            f"{ended.seconds:.2f} s, {ended.describe()}, {ended.peak_bytes / 2**20:,.0f} MiB at the peak",
            result.files,
            result.dumps,
            _output.stderr(),
        )
