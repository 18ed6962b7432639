"""One HTML file each: it needs no network, no server and no other file.

make_page        a trace and its report             here
make_findings    the findings of a check            here; _races
make_comparison  two traces                         _comparison
make_job_page    the answers about many ranks       _job
                 head, policy, style, script        _document
                 findings and tables as HTML        _html
                 drawings that need no script       _figures, _flame
                 the data of the timeline           _index, _blocks, _lanes, _columns
                 links to places on it              _places
                 how text enters the page           _util.html_text
                 app.js, style.css: built from web/ by `make web`
"""

from __future__ import annotations

import math
from typing import Any

from eventide._util.html_text import text
from eventide.analysis import View, flame, lint, with_sampled_spans
from eventide.errors import InternalError
from eventide.report._gather import Report, gather
from eventide.report._report import describe_trace
from eventide.report.page import _figures, _html
from eventide.report.page._blocks import Detail, scripts
from eventide.report.page._comparison import make_comparison
from eventide.report.page._document import document
from eventide.report.page._flame import flame_graph
from eventide.report.page._index import PageIndex, describe
from eventide.report.page._job import make_job_page
from eventide.report.page._places import Places
from eventide.report.page._races import MOST, Missing, missing_edges, race_section, verdict_chip
from eventide.sanitizer import Findings
from eventide.trace import Trace

LIMIT = 40_000_000  # bytes of the file
# From most to least; the first that fits into the limit is used.
LADDER = (
    Detail(),
    Detail(arguments=False),
    Detail(grid=16, arguments=False, slack=False),
    Detail(grid=16, arguments=False, edges=False, slack=False),
)

__all__ = ["LIMIT", "make_comparison", "make_findings", "make_job_page", "make_page"]


def make_page(
    trace: Trace, report: Report, *, findings: Findings | None = None, exact: bool = False, limit: int = LIMIT
) -> str:
    """The page as text. `exact` keeps every nanosecond and argument, however large the file becomes.

    `findings` are those of the sanitizer in this trace: the page begins with them, and shows the missing edges.
    """
    view = View(trace)
    missing = missing_edges(findings, view) if findings is not None else []
    shown = _shown(view)
    index, built = _fitted(view, shown, report, missing, math.inf if exact else limit)
    places = Places(index)
    races = race_section(findings, places.of_races()) if findings is not None else ""
    notes = [describe(index.detail), _about_samples(report, sampled=shown is not view)]
    note = "".join(f'<p class="note">{text(each)}</p>' for each in notes if each)
    main = [
        races, _figures.key_figures(report), _first_screen(report, findings, places), *_drawings(view, report, note),
        _html.edits(report.edits), _html.tables(report, lint(view)),
    ]  # fmt: skip
    return document(
        report.title,
        describe_trace(report),
        "\n".join(part for part in main if part),
        command="eventide report",
        chip=verdict_chip(findings) + _html.completeness(report),
        dialog=_html.key_dialog(),
        data=scripts(built, index.blocks),
    )


def _first_screen(report: Report, races: Findings | None, places: Places) -> str:
    """Findings, and beside them where the time went, if that is known."""
    before = min(len(races.found), MOST) if races is not None else 0
    left = _html.finding_list(report, places.of, before + 1) + _html.unknown_list(report)
    right = _figures.breakdown_bars(report) + _figures.step_columns(report)
    return f'<div class="first"><div>{left}</div><div>{right}</div></div>' if right else left


def _drawings(view: View, report: Report, note: str) -> tuple[str, str]:
    """The timeline and the flame graph; of a program without devices the samples say more."""
    empty = not (view.count or view.trace.counters.num_rows or report.samples.count)
    both = _html.timeline(note, empty=empty), flame_graph(flame(view))
    return both if report.breakdown.devices else (both[1], both[0])


def _shown(view: View) -> View:
    """What the timeline has: the sampled stacks too, in the window of the trace."""
    trace = with_sampled_spans(view)
    if trace is view.trace:
        return view
    shown = View(trace)
    shown.window = view.window
    return shown


def _about_samples(report: Report, *, sampled: bool) -> str:
    """How to read the tracks of samples, or that they would be too many boxes."""
    if sampled:
        return "Tracks of samples: a box is what neighbouring samples have in common; shorter calls may be missing."
    return "The samples are too many for the timeline: the sampled stacks have all." if report.samples.count else ""


def _fitted(
    analysed: View, shown: View, report: Report, missing: list[Missing], limit: float
) -> tuple[PageIndex, dict[str, Any]]:
    """The first step of the ladder that fits; the last one whatever it takes."""
    for detail in LADDER:
        index = PageIndex(shown, analysed, report, detail, missing)
        built = index.build(math.inf if detail is LADDER[-1] else limit)
        if built is not None:
            return index, built
    raise InternalError("the last step of the page's ladder has no limit")


def make_findings(findings: Findings, title: str, trace: Trace | None = None) -> str:
    """The findings of a check as a page; with the timeline if they are those of a trace."""
    if trace is not None and trace.spans.num_rows:
        return make_page(trace, gather(trace, title), findings=findings)
    chip = verdict_chip(findings)
    return document(title, findings.summary, race_section(findings), command="eventide check", chip=chip)
