"""The processes of a run on the screen: a table, and what it takes to see across them."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from rich.console import Console

from eventide._util import format as fmt
from eventide.analysis import Process, Processes, Straggler
from eventide.report._tables import Fitted

_ROWS, _NAMED = 16, 3  # rows of the table; processes that a line names


def show_processes(found: Processes, console: Console) -> None:
    """Print the table and the lines."""
    console.print(processes_table(found))
    for line in process_lines(found):
        console.print(line, highlight=False, markup=False)


def processes_table(found: Processes) -> Fitted:
    """One line a process: the program, those that failed, ranks, then the longest."""
    rows = found.rows
    if len(rows) > _ROWS:
        important = sorted(rows[1:], key=lambda row: (not row.code, row.rank is None, -(row.duration or 0)))
        kept = {id(row) for row in (rows[0], *important[: _ROWS - 1])}
        rows = tuple(row for row in rows if id(row) in kept)
    cells = [
        (
            fmt.name(one.name, 24),
            fmt.name(one.command or "-", 40),
            str(one.pid),
            "-" if one.duration is None else fmt.time(one.duration),
            "-" if one.ran is None else f"{one.ran:.0%}",
            ending(one),
        )
        for one in rows
    ]
    return Fitted((f"{len(found.rows):,} processes", "command", "pid", "life", "ran", "ended"), cells, 2)


def ending(one: Process) -> str:
    """Such as "exit code 0", "killed by SIGKILL" or "still running"."""
    if one.code is None:
        return "still running" if one.running else "-"
    return f"exit code {one.code}" if one.code >= 0 else f"killed by {_signal(-one.code)}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def process_lines(found: Processes) -> list[str]:
    """What the program waited for, which children were idle, which failed, which were not recorded."""
    lines = []
    main = found.rows[0]
    if main.ran is not None and main.ran < 0.5 and main.waited_at:
        lines.append(f"{main.name} waited {1 - main.ran:.0%} of its time, most in {main.waited_at}")
    if found.straggler is not None:
        lines.append(_straggler(found.straggler))
    if idle := found.idle:
        each = ", ".join(f"{_named(one)} ran {one.ran or 0:.0%} of {_life(one)}" for one in idle[:_NAMED])
        lines.append(f"idle: {each}{_more(idle)}")
    if failed := [one for one in found.rows[1:] if one.code]:
        each = ", ".join(f"{_named(one)} {ending(one)}" for one in failed[:_NAMED])
        lines.append(f"ended otherwise than with 0: {each}{_more(failed)}")
    if missing := found.unrecorded:
        each = ", ".join(fmt.name(one.command or one.name, 40) for one in missing[:_NAMED])
        why = "not a Python that can import eventide, -I, -E or -S, or ended while it started; only lifetimes are spans"
        lines.append(f"not recorded: {each}{_more(missing)} ({why})")
    return lines


def _straggler(last: Straggler) -> str:
    why = f": it ran {fmt.time(last.more)} more in {last.function}" if last.function else ""
    return f"the other ranks waited for rank {last.rank}, {fmt.time(last.behind)} in collectives{why}"


def _named(one: Process) -> str:
    return one.name if one.rank is not None else f"{fmt.name(one.name, 24)} ({one.pid})"


def _life(one: Process) -> str:
    return "its life" if one.duration is None else fmt.time(one.duration)


def _more(rows: Sequence[Process]) -> str:
    return f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
