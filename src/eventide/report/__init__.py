"""Results in, text out.

gather, Report              every answer about a trace                     _gather
render_report               one screen: findings, tables, what to do next  _text, _findings
render_summary and others   one answer alone                               _answers, _comparison, _tables, _table
run_summary, show_run       the end of `eventide run`                      _run
plain                       any result as what JSON can hold               _plain
                            numbers and names as people read them          format
"""

from eventide.report._answers import (
    render_breakdown,
    render_compile,
    render_idle,
    render_lint,
    render_memory,
    render_path,
    render_summary,
    render_syncs,
)
from eventide.report._comparison import render_comparison
from eventide.report._findings import Finding, findings, unknowns
from eventide.report._gather import QUESTIONS, Report, gather
from eventide.report._plain import plain
from eventide.report._run import RunSummary, run_summary, show_run
from eventide.report._table import Fitted, fit
from eventide.report._text import render_report

__all__ = [
    "QUESTIONS",
    "Finding",
    "Fitted",
    "Report",
    "RunSummary",
    "findings",
    "fit",
    "gather",
    "plain",
    "render_breakdown",
    "render_comparison",
    "render_compile",
    "render_idle",
    "render_lint",
    "render_memory",
    "render_path",
    "render_report",
    "render_summary",
    "render_syncs",
    "run_summary",
    "show_run",
    "unknowns",
]
