"""What `eventide run` makes of its options before the program runs, and of the recording after it."""

from __future__ import annotations

import json
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import eventide as et
from eventide.cli import _output
from eventide.errors import EventideError, UsageValueError
from eventide.integrations.torch import CHOICES
from eventide.trace import writer_of

if TYPE_CHECKING:
    from eventide.report import RunSummary
    from eventide.run import Ended, Settings


# A program never hears of the first two, and goes nowhere when it has heard of one of the others.
_UNHEARD = {"SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}


@dataclass(frozen=True)
class _Result:
    """What --json prints."""

    ended: Ended
    files: list[str]
    dumps: list[str]
    summary: RunSummary | None
    problem: str = ""


def recording_path(output: Path) -> Path:
    """Where the recorder writes: the output itself, or beside it when it is to be another format."""
    if output.is_dir() and output.suffix != ".parquet":
        raise UsageValueError(f"{output} is a directory; name a file, such as {output / 'run.eventide'}")
    if not output.absolute().parent.is_dir():
        raise UsageValueError(f"there is no directory {output.parent} to write {output.name} to; make it first")
    path = output.absolute()
    if path.suffix != ".eventide":
        try:
            writer_of(path)  # before the program runs, perhaps for hours
        except UsageValueError as error:
            raise UsageValueError(f"{error}, or .eventide (as recorded)") from error
        path = path.with_name(path.name + ".eventide")
    _try_to_write(path)
    return path


def _try_to_write(path: Path) -> None:
    """Also before the program runs. What is there stays as it is."""
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise UsageValueError(f"cannot write {path}: {error.strerror}; name another file with --output") from error


def signal_name(option: str, given: str) -> str:
    """SIGUSR1 for "SIGUSR1", "usr1" and "10"."""
    if not given:
        return ""
    name = given.upper() if given.upper().startswith("SIG") else f"SIG{given.upper()}"
    numbers = {str(int(one)): one.name for one in signal.Signals}
    found = numbers.get(given, name)
    if found not in signal.Signals.__members__ or found in _UNHEARD:
        raise UsageValueError(f"{option} {given} is no signal that a program can hear; SIGUSR1 is one")
    return found


def check_signals(settings: Settings) -> None:
    """One signal cannot ask for both."""
    if settings.start_on and settings.start_on == settings.dump_on:
        raise UsageValueError(f"--start-on and --dump-on are both {settings.dump_on}; give one of them another signal")


def steps(given: str) -> tuple[int, int, int, int] | None:
    """WAIT,WARMUP,ACTIVE[,REPEAT] as numbers."""
    if not given:
        return None
    parts = given.split(",")
    if len(parts) not in {3, 4} or not all(part.strip().isdecimal() for part in parts) or not int(parts[2]):
        raise UsageValueError(f"--schedule {given} is not WAIT,WARMUP,ACTIVE[,REPEAT]; 1,1,3 records the steps 2 to 4")
    wait, warmup, active, repeat = (*map(int, parts), 0)[:4]
    return wait, warmup, active, repeat


def of_torch(given: str) -> tuple[str, ...]:
    """What to hear of torch; shapes and FLOPs are those of operators, modules stand alone."""
    wanted = tuple(part.strip() for part in given.split(","))
    if wanted == ("none",):
        return ()
    if wrong := [part for part in wanted if part not in CHOICES]:
        raise UsageValueError(f"--torch {wrong[0]} is nothing that torch tells; it tells {', '.join(CHOICES)}, or none")
    operators = () if set(wanted) <= {"modules"} else ("ops",)
    return tuple(dict.fromkeys((*operators, *wanted)))


def finish(ended: Ended, settings: Settings, output: Path, *, quiet: bool, as_json: bool) -> None:
    """Open the recording, write it in the format asked for, and tell what happened, on stderr."""
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
    with suppress(SystemExit):  # how rich ends when nobody reads; the exit code is the program's all the same
        _tell(_Result(ended, files, dumps, summary, problem), quiet, as_json)


def _opened(raw: Path) -> et.Trace:
    """The trace. Of a program that was killed, what its buffer still holds is moved into the file first."""
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
        raise UsageValueError(_nothing(settings))
    return found


def _beside(ended: Ended, settings: Settings, more: str) -> list[Path]:
    """What this run has written under the recording's name with `more`, a pattern, behind it; in order of time."""
    first = Path(settings.path)
    wanted = re.compile(f"{re.escape(first.stem)}{more}\\.eventide")
    found = [path for path in first.parent.iterdir() if wanted.fullmatch(path.name)]
    timed = sorted((path.stat().st_mtime, len(path.name), path) for path in found)
    return [path for time, _, path in timed if time >= ended.began]


def _saved(trace: et.Trace, raw: Path, settings: Settings, output: Path) -> str:
    """Where the recording is now: as recorded, or in the format of the output's ending."""
    suffix = raw.stem.removeprefix(Path(settings.path).stem)  # of a later cycle: "-2"
    if Path(settings.path) == output.absolute():
        return str(output if not suffix else output.with_name(raw.name))
    target = output.with_name(f"{output.stem}{suffix}{output.suffix}") if suffix else output
    trace.save(target)
    raw.unlink()
    return str(target)


def _nothing(settings: Settings) -> str:
    if settings.schedule:
        return "nothing was recorded: the steps never came that far; they are told by torch's optimizers"
    if settings.start_on:
        return f"nothing was recorded: {settings.start_on} never came"
    return (
        "nothing was recorded: unless a line above says why, the program ended before it began, "
        "or runs Python with -I, -E or -S"
    )


def _tell(result: _Result, quiet: bool, as_json: bool) -> None:
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
