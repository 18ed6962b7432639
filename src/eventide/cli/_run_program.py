"""`eventide run` without the parser of its options: run a program unchanged, record it, and print a summary.

This module imports neither typer nor rich, whose imports take longer than a small program; `_quick` calls it directly.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.cli import _output
from eventide.cli._files import require_file
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.run import Result, Settings

# A program cannot handle the first two, and cannot continue after one of the others.
_NOT_HANDLED = {"SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}
TORCH_PARTS = "ops,modules"  # by default; torch_parts() imports the integration
_TRACES = {".eventide", ".pftrace", ".parquet", ".json"}


def run_program(
    program: Sequence[str],
    *,
    module: str = "",
    output: Path | None = None,
    ring: bool = False,
    sample: float = 10.0,
    start_on: str = "",
    seconds: float = 0.0,
    dump_on: str = "",
    hang_seconds: float | None = None,
    schedule: str = "",
    torch: str = TORCH_PARTS,
    torch_seconds: float = 20.0,
    children: str = "yes",
    report: Path | None = None,
    open_browser: bool = False,
    quiet: bool = False,
    as_json: str = "",
) -> int:
    """Run and record a program as the options of `eventide run` say; returns its exit code."""
    from eventide.run import (
        DiskFullError,
        Settings,
        clear,
        collect,
        end_like,
        folder_for,
        is_python,
        launch,
        recording_path,
        refuse_options,
        reserve,
    )

    command = _command(program, module)
    check_report(report)
    if not is_python(command):
        refuse_options(program[0], start_on=bool(start_on), dump_on=bool(dump_on), children=children == "no")
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
    summary = Summary(as_json, report, open_browser, quiet)
    try:
        target = output or reserve(module or _name(program[0]))
        try:
            settings = settings._replace(path=str(recording_path(target)))
            if children == "yes" and not settings.start_on:
                folder = folder_for(target, named=output is not None)
                clear(folder)
                settings = settings._replace(children=str(folder))
            signals = [name for name in (settings.start_on, settings.dump_on) if name]
            ended = launch(command, settings.to_environment(), signals=signals)
        finally:
            if output is None and not target.stat().st_size:  # nothing was recorded
                target.unlink()
    except DiskFullError as error:
        _output.say(f"eventide: not recording: {error}")
        return end_like(launch(command, {}))
    result = collect(ended, settings, target, named=output is not None, summarize=summary.wanted)
    summary.show(result)
    return end_like(ended)


def check_report(report: Path | None) -> None:
    """The file of --report is a page."""
    if report is not None and report.suffix.lower() != ".html":
        raise UsageValueError(f"--report writes a page, so {str(report)!r} must end in .html")


def _name(script: str) -> str:
    """For the recording of a script."""
    return "stdin" if script == "-" else Path(script).stem or Path(script).resolve().name


def _command(program: Sequence[str], module: str) -> list[str]:
    """The arguments of the interpreter."""
    from eventide.run import command_of

    if module:
        return ["-m", module, *program]
    if not any(program[:1]):
        raise UsageValueError("name the program to run: eventide run script.py, or eventide run -m module")
    if program[0] == "-":  # the program is read from stdin
        return list(program)
    if command := command_of(program):
        return command
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
    """What to trace of torch; shapes, FLOPs and memory need the operators, modules and accesses do not."""
    from eventide.integrations.torch import CHOICES

    wanted = tuple(part.strip() for part in given.split(","))
    if wanted == ("none",):
        return ()
    if wrong := [part for part in wanted if part not in CHOICES]:
        raise UsageValueError(f"--torch {wrong[0]} is unknown; use some of {', '.join(CHOICES)}, or none")
    operators = () if set(wanted) <= {"modules", "accesses"} else ("ops",)
    return tuple(dict.fromkeys((*operators, *wanted)))


class Summary:
    """Shows the result of a run: as JSON, on stderr and as a page. A problem of these is a line on stderr.

    The exit code remains that of the program, so what can be wrong with the options is checked before it runs.
    """

    def __init__(self, as_json: str, report: Path | None, open_browser: bool, quiet: bool) -> None:
        """`as_json` is a file, or a descriptor that the caller opened; `report` is the path of the page."""
        self._json = _opened(as_json)
        self._report, self._open_browser, self._quiet = report, open_browser, quiet

    @property
    def wanted(self) -> bool:
        """Whether the recording must be opened for it."""
        return self._json is not None or not self._quiet

    def show(self, result: Result) -> None:
        """Everything that the options name."""
        self._write_json(result)
        self._print(result)
        if self._report is not None or self._open_browser:
            self._write_page(result)
        _output.flush()

    def _write_json(self, result: Result) -> None:
        if self._json is None:
            return
        from eventide.report import plain

        text = json.dumps(plain(result), indent=2) + "\n"
        try:
            to = os.dup(self._json) if isinstance(self._json, int) else self._json  # stderr must stay open
            with open(to, "w", encoding="utf-8") as file:  # noqa: PTH123 - or a descriptor
                file.write(text)
        except OSError as error:
            _output.say(f"eventide: cannot write the summary as JSON: {error.strerror}; name another file")

    def _print(self, result: Result) -> None:
        if result.problem:
            _output.say(f"eventide: {result.problem}")
        if self._quiet or result.summary is None:
            return
        from eventide.report import show_processes, show_run

        ended = result.ended
        with suppress(SystemExit):  # rich raises it if stderr is closed
            if result.processes is not None:
                show_processes(result.processes, _output.stderr())
            show_run(
                result.summary,
                f"{ended.seconds:.2f} s, {ended.describe()}, {ended.peak_bytes / 2**20:,.0f} MiB at the peak",
                result.files,
                result.dumps,
                _output.stderr(),
            )

    def _write_page(self, result: Result) -> None:
        if not result.files:
            _output.say("eventide: there is no page, because nothing was recorded")
            return
        import webbrowser

        import eventide as et

        recording = Path(result.files[0])
        page = self._report or recording.with_name(f"{recording.name.partition('.')[0]}.html")
        try:
            et.open_trace(recording).report(page, title=recording.name)
        except (et.EventideError, OSError) as error:
            _output.say(f"eventide: no page was written: {error}")
            return
        _output.say(f"eventide: the report is {page}")
        if self._open_browser and not webbrowser.open(page.absolute().as_uri()):
            _output.say(f"eventide: no browser could be started; open {page.absolute()} yourself")


def _opened(given: str) -> int | Path | None:
    """The value of --json, once it is certain that it can be written."""
    try:
        if given.isdecimal():
            os.fstat(int(given))
            if int(given) > 2:
                os.set_inheritable(int(given), False)  # the program does not inherit it
            return int(given)
        if given:
            Path(given).open("ab").close()
            return Path(given)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageValueError(f"--json {given} cannot be written: {why}; name a file or an open descriptor") from error
    return None
