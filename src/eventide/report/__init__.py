"""Results in, text out.

report                      the text of `eventide report`, or a .txt or .json file   _report
gather, Report              every result of a trace                                 _gather
findings, unknowns          sentences about a report: what was found, what is unknown _findings
render_report               one screen: findings, tables, what to do next           _report
render_summary and others   one result alone                                        _answers, _tables
page                        the report as one HTML file                             page/
plain                       any result as JSON values                               _report
run_summary, show_run       the end of `eventide run`                               _run
"""

from eventide.report._answers import (
    render_breakdown,
    render_comparison,
    render_compile,
    render_idle,
    render_lint,
    render_memory,
    render_path,
    render_summary,
    render_syncs,
)
from eventide.report._findings import Finding, findings, unknowns
from eventide.report._gather import QUESTIONS, Report, gather
from eventide.report._report import (
    check_suffix,
    describe_trace,
    plain,
    render_report,
    report,
    report_json,
    write_report,
    write_whole,
)
from eventide.report._run import RunSummary, run_summary, show_run
from eventide.report._tables import Fitted, OperatorTable, as_text, fit

__all__ = [
    "QUESTIONS",
    "Finding",
    "Fitted",
    "OperatorTable",
    "Report",
    "RunSummary",
    "as_text",
    "check_suffix",
    "describe_trace",
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
    "report",
    "report_json",
    "run_summary",
    "show_run",
    "unknowns",
    "write_report",
    "write_whole",
]
