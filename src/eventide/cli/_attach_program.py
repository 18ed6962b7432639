"""`eventide run --pid`: record a process that already runs, and print a summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.cli import _output
from eventide.cli._run_program import Summary
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    from eventide.run import Settings


def attach_program(
    pid: int,
    settings: Settings,
    refused: Sequence[str],
    *,
    output: Path | None,
    report: Path | None,
    open_browser: bool,
    quiet: bool,
    as_json: str,
) -> int:
    """Record process `pid`; `refused` are options on the command line that need a program to start."""
    from eventide.run import attach, collect, recording_path, reserve

    if refused:
        raise UsageValueError(f"--pid records a process that runs already, without {refused[0]}; leave one of them out")
    summary = Summary(as_json, report, open_browser, quiet)
    target = output or reserve(f"pid{pid}")
    try:
        settings = settings._replace(path=str(recording_path(target)))
        begun = "" if quiet else f"eventide: recording process {pid}; Ctrl-C ends that, and the process continues"
        ended = attach(pid, settings, _output.say, lambda: _output.say(begun) if begun else None)
    finally:
        if output is None and not target.stat().st_size:  # nothing was recorded
            target.unlink()
    result = collect(ended, settings, target, named=output is not None, summarize=summary.wanted)
    summary.show(result)
    return 2 if result.problem else 0
