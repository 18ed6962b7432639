"""What `eventide run` makes of its options before the program runs, and of the recording after it."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import eventide as et
from eventide.cli import _output
from eventide.errors import EventideError, UsageValueError

if TYPE_CHECKING:
    from eventide.cli._launch import Ended, Settings
    from eventide.report import RunSummary


@dataclass(frozen=True)
class _Result:
    """What --json prints."""

    ended: Ended
    files: list[str]
    summary: RunSummary | None
    problem: str = ""


def recording_path(output: Path) -> Path:
    """Where the recorder writes: the output itself, or beside it when it is to be another format."""
    if output.is_dir() and output.suffix != ".parquet":
        raise UsageValueError(f"{output} is a directory; name a file, such as {output / 'run.eventide'}")
    if not output.absolute().parent.is_dir():
        raise UsageValueError(f"there is no directory {output.parent} to write {output.name} to; make it first")
    path = output.absolute()
    return path if path.suffix == ".eventide" else path.with_name(path.name + ".eventide")


def signal_name(given: str) -> str:
    """SIGUSR1 for "SIGUSR1", "usr1" and "10"."""
    if not given:
        return ""
    name = given.upper() if given.upper().startswith("SIG") else f"SIG{given.upper()}"
    numbers = {str(int(one)): one.name for one in signal.Signals}
    found = numbers.get(given, name)
    if found not in signal.Signals.__members__ or found in {"SIGKILL", "SIGSTOP"}:
        raise UsageValueError(f"--start-on {given} is no signal that a program can hear; SIGUSR1 is one")
    return found


def finish(ended: Ended, settings: Settings, output: Path, *, quiet: bool, as_json: bool) -> None:
    """Open the recording, write it in the format asked for, and tell what happened, on stderr."""
    raw = Path(settings.path)
    files, summary, problem = [], None, ""
    try:
        if not raw.exists():
            raise UsageValueError(_nothing(settings))
        trace = et.open_trace(raw)
        if raw != output.absolute():
            trace.save(output)
            raw.unlink()
        files.append(str(output))
        if not quiet:
            from eventide.report import run_summary

            summary = run_summary(trace)
    except EventideError as error:
        problem = str(error)
        files += [str(raw)] if raw.exists() else []
    _tell(_Result(ended, files, summary, problem), quiet, as_json)


def _nothing(settings: Settings) -> str:
    if settings.start_on:
        return f"nothing was recorded: {settings.start_on} never came"
    return "nothing was recorded: the program ended before it began, or runs Python with -I, -E or -S"


def _tell(result: _Result, quiet: bool, as_json: bool) -> None:
    if as_json:
        from eventide.report import plain

        print(json.dumps(plain(result), indent=2), file=sys.stderr)
        return
    if result.problem:
        print(f"eventide: {result.problem}", file=sys.stderr)
    if not quiet and result.summary is not None:
        from eventide.report import show_run

        ended = result.ended
        show_run(
            result.summary,
            f"{ended.seconds:.2f} s, {ended.describe()}, {ended.peak_bytes / 2**20:,.0f} MiB at the peak",
            result.files,
            _output.stderr(),
        )
