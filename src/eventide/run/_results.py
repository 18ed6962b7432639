"""What a run left behind: its recordings, in the format that was asked for, and the summary."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.errors import EventideError, TraceFileError, UsageValueError
from eventide.run._processes import moved, opened_with, recordings_in, summarized

if TYPE_CHECKING:
    from eventide.analysis import Processes
    from eventide.report import RunSummary
    from eventide.run._launch import Ended
    from eventide.run._settings import Settings
    from eventide.trace import Trace


@dataclass
class Result:
    """The document of --json."""

    ended: Ended
    files: list[str] = field(default_factory=list)
    dumps: list[str] = field(default_factory=list)
    summary: RunSummary | None = None
    processes: Processes | None = None  # of a program that has started others
    problem: str = ""


def collect(ended: Ended, settings: Settings, output: Path, *, named: bool, summarize: bool) -> Result:
    """The files of this run in the format of `output`, and the summary of the first. Problems are in the result."""
    result = Result(ended)
    try:
        folder = Path(settings.children) if settings.children else None
        children = recordings_in(folder) if folder is not None else []
        raws = _recordings(ended, settings, children)
        for raw in (*raws, *children):
            recover(raw)
        traces = _Traces(raws)
        if summarize and raws:
            _summarize(result, traces, children, ended)
        if folder is not None and children:
            result.files = _with_children(result, traces, children, settings, output, named=named)
        else:
            for raw in raws:
                _place(raw, traces, result.files, settings, output)
        if folder is not None and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except (EventideError, OSError) as error:  # the exit code remains that of the program
        result.problem = str(error)
    result.dumps = [str(output.with_name(path.name)) for path in _beside(ended, settings, r"(-\d+)?-dump-\d+")]
    return result


class _Traces:
    """The recordings of the program itself, each opened at most once; opening takes longer than a small program."""

    def __init__(self, raws: list[Path]) -> None:
        self.raws = raws
        self._opened: dict[Path, Trace] = {}

    def __getitem__(self, raw: Path) -> Trace:
        if raw not in self._opened:
            from eventide.trace import open_trace

            self._opened[raw] = open_trace(raw)
        return self._opened[raw]


def _summarize(result: Result, traces: _Traces, children: list[Path], ended: Ended) -> None:
    from eventide.report import run_summary

    opened = opened_with([(str(raw), traces[raw]) for raw in traces.raws[:1]], children)
    result.summary = run_summary([trace for _, trace in opened])
    found = summarized(opened, children, ended.code)
    if len(found.rows) > 1:
        result.processes = found


def _with_children(
    result: Result, traces: _Traces, children: list[Path], settings: Settings, output: Path, *, named: bool
) -> list[str]:
    """The files of several processes: a directory, or one merged trace of another format."""
    folder = Path(settings.children)
    if Path(settings.path) == output.absolute():
        if named:
            return [*(str(output.with_name(raw.name)) for raw in traces.raws), str(output.with_name(folder.name))]
        for number, raw in enumerate(traces.raws, 1):
            moved(raw, folder, result.ended.pid, number)
        return [str(output.with_suffix(""))]
    from eventide.trace import merge, open_trace

    merge([*(traces[raw] for raw in traces.raws), *(open_trace(child) for child in children)]).save(output)
    for raw in (*traces.raws, *children):
        raw.unlink()
    folder.rmdir()
    return [str(output)]


def _place(raw: Path, traces: _Traces, files: list[str], settings: Settings, output: Path) -> None:
    """Leave the recording where it is, or write it in the format of the output."""
    suffix = raw.stem.removeprefix(Path(settings.path).stem)  # of a later cycle: "-2"
    if Path(settings.path) == output.absolute():
        files.append(str(output if not suffix else output.with_name(raw.name)))
        return
    target = output.with_name(f"{output.stem}{suffix}{output.suffix}") if suffix else output
    try:
        traces[raw].save(target)
    except TraceFileError:
        files.append(str(raw))  # as recorded, at least
        raise
    raw.unlink()
    files.append(str(target))


def recover(raw: Path) -> None:
    """If the program was killed, move the records in its buffer into the file; else readers use the buffer."""
    from eventide import _native

    if _native.load_trace(str(raw)).has_buffer:
        from eventide.recording import recover_trace

        try:
            recover_trace(raw)
        except TraceFileError:
            return  # the disk is full; the trace has a warning


def _recordings(ended: Ended, settings: Settings, children: list[Path]) -> list[Path]:
    """The file, or a file for each cycle of a schedule: t.eventide, t-2.eventide and so on."""
    found = _beside(ended, settings, r"(-\d+)?" if settings.schedule else "")
    if not found and not children:
        raise UsageValueError(_nothing_recorded(settings))
    return found


def _beside(ended: Ended, settings: Settings, more: str) -> list[Path]:
    """The files of this run with the recording's name and `more`, a pattern, after it; in order of time."""
    first = Path(settings.path)
    wanted = re.compile(f"{re.escape(first.stem)}{more}\\.eventide")
    found = [path for path in first.parent.iterdir() if wanted.fullmatch(path.name)]
    timed = sorted((status.st_mtime, len(path.name), path) for path in found if (status := path.stat()).st_size)
    return [path for time, _, path in timed if time >= ended.began]


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
