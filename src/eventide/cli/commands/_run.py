"""`eventide run`: run a program unchanged, record it, and print a summary."""

from __future__ import annotations

import errno
import itertools
import json
import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventide as et
from eventide.cli import _output
from eventide.cli._app import app
from eventide.cli._arguments import Json, ProgramCommand, require_file
from eventide.errors import EventideError, TraceFileError, UsageValueError

if TYPE_CHECKING:
    from eventide.report import RunSummary
    from eventide.run import Ended, Settings

# A program cannot handle the first two, and cannot continue after one of the others.
_NOT_HANDLED = {"SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}
_TRACES = {".eventide", ".pftrace", ".parquet", ".json"}


@dataclass(frozen=True)
class _Result:
    """The document of --json."""

    ended: Ended
    files: list[str]
    dumps: list[str]
    summary: RunSummary | None
    problem: str = ""


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
    ] = "ops,modules",
    torch_seconds: Annotated[
        float,
        typer.Option(min=0, max=1e9, help="Limit of torch's own profiler, counted again from step 1; 0: no limit."),
    ] = 20.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    as_json: Json = False,
) -> int:
    """Run a program unchanged and record it; the summary goes to stderr."""
    from eventide.run import Settings, end_like, launch

    command = _command(program or [], module)
    settings = Settings(
        path="",
        ring=ring,
        sample_ms=sample,
        start_on=_signal_name("--start-on", start_on),
        seconds=seconds,
        dump_on=_signal_name("--dump-on", dump_on),
        hang_seconds=hang_seconds,
        schedule=_steps(schedule),
        torch=torch_parts(torch),
        torch_seconds=torch_seconds,
    )
    _check_signals(settings)
    reserved = output is None
    target = output or _reserve(module or Path(command[0]).stem or Path(command[0]).resolve().name)
    try:
        settings = replace(settings, path=str(_recording_path(target)))
        signals = [name for name in (settings.start_on, settings.dump_on) if name]
        ended = launch(command, settings.to_environment(), signals=signals)
    finally:
        if reserved and not target.stat().st_size:  # nothing was recorded
            target.unlink()
    _finish(ended, settings, target, quiet=quiet, as_json=as_json)
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


def _reserve(name: str) -> Path:
    """Create NAME-20261118-142501.eventide in this folder, empty; with _2 and so on if another run has that name."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in itertools.count(1):
        path = Path(f"{stem}.eventide" if number == 1 else f"{stem}_{number}.eventide")
        try:
            path.open("xb").close()
        except FileExistsError:
            continue
        except OSError as error:
            raise _cannot_write(path, error) from error
        return path
    raise AssertionError  # unreachable: count() has no end


def _recording_path(output: Path) -> Path:
    """Where the recorder writes: the output itself, or beside it if that has another format."""
    if output.is_dir() and output.suffix != ".parquet":
        raise UsageValueError(f"{output} is a directory; name a file, such as {output / 'run.eventide'}")
    if not output.absolute().parent.is_dir():
        message = f"there is no directory {output.parent} to write {output.name} to; create it first"
        raise TraceFileError(message, errno.ENOENT, str(output))
    path = output.absolute()
    if path.suffix != ".eventide":
        from eventide.trace import writer_of

        try:
            writer_of(path)  # now: the program may run for hours
        except UsageValueError as error:
            raise UsageValueError(f"{error}, or .eventide (as recorded)") from error
        path = path.with_name(path.name + ".eventide")
    _try_to_write(path)
    return path


def _try_to_write(path: Path) -> None:
    """Raise now rather than after the program. An existing file is not changed."""
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> TraceFileError:
    message = f"cannot write {path}: {error.strerror}; name another file with --output"
    return TraceFileError(message, error.errno or errno.EIO, str(path))


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


def _finish(ended: Ended, settings: Settings, output: Path, *, quiet: bool, as_json: bool) -> None:
    """Open the recording, write it in the format of the output, and print the summary to stderr."""
    files: list[str] = []
    summary, problem = None, ""
    try:
        for raw in _recordings(ended, settings):
            trace = _opened(raw)
            files.append(_saved(trace, raw, settings, output))
            if not quiet and summary is None:
                from eventide.report import run_summary

                summary = run_summary(trace)
    except EventideError as error:
        problem = str(error)
    dumps = [str(output.with_name(path.name)) for path in _beside(ended, settings, r"(-\d+)?-dump-\d+")]
    with suppress(SystemExit):  # rich raises it if stderr is closed; the exit code remains that of the program
        _print(_Result(ended, files, dumps, summary, problem), quiet, as_json)


def _opened(raw: Path) -> et.Trace:
    """The trace. If the program was killed, the records in its buffer are moved into the file first."""
    trace = et.open_trace(raw)
    if trace.metadata["account"].get("closed", True):
        return trace
    from eventide.recording import recover_trace

    recover_trace(raw)
    return et.open_trace(raw)


def _recordings(ended: Ended, settings: Settings) -> list[Path]:
    """The file, or a file for each cycle of a schedule: t.eventide, t-2.eventide and so on."""
    found = _beside(ended, settings, r"(-\d+)?" if settings.schedule else "")
    if not found:
        raise UsageValueError(_nothing_recorded(settings))
    return found


def _beside(ended: Ended, settings: Settings, more: str) -> list[Path]:
    """The files of this run with the recording's name and `more`, a pattern, after it; in order of time."""
    first = Path(settings.path)
    wanted = re.compile(f"{re.escape(first.stem)}{more}\\.eventide")
    found = [path for path in first.parent.iterdir() if wanted.fullmatch(path.name)]
    timed = sorted((path.stat().st_mtime, len(path.name), path) for path in found)
    return [path for time, _, path in timed if time >= ended.began]


def _saved(trace: et.Trace, raw: Path, settings: Settings, output: Path) -> str:
    """Where the recording is now: as recorded, or in the format of the output."""
    suffix = raw.stem.removeprefix(Path(settings.path).stem)  # of a later cycle: "-2"
    if Path(settings.path) == output.absolute():
        return str(output if not suffix else output.with_name(raw.name))
    target = output.with_name(f"{output.stem}{suffix}{output.suffix}") if suffix else output
    trace.save(target)
    raw.unlink()
    return str(target)


def _nothing_recorded(settings: Settings) -> str:
    if settings.schedule:
        return (
            "nothing was recorded: the program ended before the first step of --schedule; torch's optimizers count them"
        )
    if settings.start_on:
        return f"nothing was recorded: {settings.start_on} was never received"
    return (
        "nothing was recorded: if no line above gives the reason, the program ended at once, "
        "or runs Python with -I, -E or -S"
    )


def _print(result: _Result, quiet: bool, as_json: bool) -> None:
    if as_json:
        from eventide.report import plain

        _output.say(json.dumps(plain(result), indent=2))
        return
    if result.problem:
        _output.say(f"eventide: {result.problem}")
    if not quiet and result.summary is not None:
        from eventide.report import show_run

        ended = result.ended
        show_run(
            result.summary,
            f"{ended.seconds:.2f} s, {ended.describe()}, {ended.peak_bytes / 2**20:,.0f} MiB at the peak",
            result.files,
            result.dumps,
            _output.stderr(),
        )
