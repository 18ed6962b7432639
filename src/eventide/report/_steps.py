"""Steps in a report: how their time is split, and a strip of their lengths."""

from __future__ import annotations

from eventide._util import format as f
from eventide.analysis import Phases
from eventide.report._tables import Fitted, table

_LEVELS = " ▁▂▃▄▅▆▇█"
_CELLS = 90


def is_split(phases: Phases) -> bool:
    """Whether anything of what a training loop does was recorded in the steps."""
    return any(time for phase, time in phases.totals().items() if phase != "other")


def phase_table(phases: Phases) -> Fitted:
    """One line a phase; empty if no phase was recorded."""
    whole = sum(step.duration for step in phases.steps)
    rows = []
    for phase, time in phases.totals().items() if is_split(phases) else ():
        each = sorted(getattr(step, phase) for step in phases.steps)
        if time:
            rows.append([phase, f.time(time), f.percent(time, whole), f.time(each[len(each) // 2]), f.time(each[-1])])
    return table("Part of the steps", ("total", "share", "median", "longest"), rows)


def limit_of(lengths: list[int]) -> int:
    """The length that fills the height of a strip: a first step that compiles does not flatten the others."""
    middle = sorted(lengths)[len(lengths) // 2]
    return max(min(max(lengths), 3 * middle), 1)


def strip(phases: Phases) -> str:
    """Step times as one line of text; empty for fewer than three steps."""
    lengths = [step.duration for step in phases.steps]
    if len(lengths) < 3:
        return ""
    per_cell = -(-len(lengths) // _CELLS)
    cells = [max(lengths[at : at + per_cell]) for at in range(0, len(lengths), per_cell)]
    limit = limit_of(lengths)
    drawn = "".join(_LEVELS[min(8, -(-8 * cell // limit))] for cell in cells)
    several = f", the longest of each {per_cell}" if per_cell > 1 else ""
    more = " or more" if max(lengths) > limit else ""
    return f"Step times{several} (full height: {f.time(limit)}{more})\n{drawn}"
