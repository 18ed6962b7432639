"""Everything in a report, as one frozen result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eventide.analysis import (
    BestEdits,
    Breakdown,
    Compile,
    CriticalPath,
    Idle,
    Memory,
    Phases,
    Samples,
    Step,
    Summary,
    Syncs,
    View,
    best_edits,
    breakdown,
    compiles,
    critical_path,
    idle,
    memory,
    samples,
    step_phases,
    steps_of,
    summary,
    syncs,
)
from eventide.trace import Trace

QUESTIONS = (
    "breakdown", "idle", "summary", "syncs", "critical path", "memory", "compiles", "samples", "step phases",
    "best edits",
)  # fmt: skip
EDITS_AT_MOST = 300_000  # spans of a trace that a report searches for its best edits; the search takes seconds


@dataclass(frozen=True)
class Report:
    """The answers about one trace."""

    title: str
    spans: int
    metadata: dict[str, Any]
    steps: tuple[Step, ...]
    breakdown: Breakdown
    idle: Idle
    summary: Summary
    syncs: Syncs
    path: CriticalPath
    memory: Memory
    compiles: Compile
    samples: Samples
    phases: Phases
    edits: BestEdits | None  # None: no device, or the trace is too large for the search
    launches_known: bool
    outside: tuple[tuple[str, int, int], ...]  # spans outside of the window: name, start, end


def gather(trace: Trace, title: str, step: Callable[[str], None] = lambda _: None) -> Report:
    """Compute every result; calls step(name) before each."""
    view = View(trace)
    answers: dict[str, Any] = {}
    asks: tuple[Callable[[View], Any], ...] = (
        breakdown,
        idle,
        summary,
        syncs,
        critical_path,
        memory,
        compiles,
        samples,
        step_phases,
        _edits,
    )
    for question, ask in zip(QUESTIONS, asks, strict=True):
        step(question)
        answers[question] = ask(view)
    view.forget("graph")  # of the critical path: 265 bytes a span, and the report keeps the view
    return Report(
        title,
        view.count,
        trace.metadata,
        steps_of(view),
        answers["breakdown"],
        answers["idle"],
        answers["summary"],
        answers["syncs"],
        answers["critical path"],
        answers["memory"],
        answers["compiles"],
        answers["samples"],
        answers["step phases"],
        answers["best edits"],
        len(view.edges("launch")) > 0,
        tuple((view.word(row), int(view.start[row]), int(view.end[row])) for row in view.outside[:100].tolist()),
    )


def _edits(view: View) -> BestEdits | None:
    """What would make it faster, by replay; `eventide trace best-edits` searches large traces too."""
    return best_edits(view) if 0 < view.count <= EDITS_AT_MOST and breakdown(view).devices else None
