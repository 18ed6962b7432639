"""Results in, text out.

report                      the text of `eventide report`, or a .txt or .json file   _report
gather, Report              every result of a trace                                 _gather
findings, unknowns, RULES   sentences about a report and their rules                rules/
render_report               one screen: findings, tables, what to do next           _report
render_summary and others   one result alone                                        _answers, _tables
make_page, make_findings, make_comparison   one HTML file each                     page/
job                         answers about a job of many ranks                       job, page/_job
                            parts of these: steps, sampled stacks, processes        _steps, _sample_tables, _processes
plain                       any result as JSON values                               _report
run_summary, show_run       the end of `eventide run`                               _run
"""

from eventide._util.public_names import publish
from eventide.report._answers import (
    render_breakdown,
    render_comparison,
    render_compile,
    render_idle,
    render_lint,
    render_memory,
    render_path,
    render_result,
    render_summary,
    render_syncs,
)
from eventide.report._gather import QUESTIONS, Report, gather
from eventide.report._processes import process_lines, processes_table, show_processes
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
from eventide.report.page import make_comparison, make_findings, make_page
from eventide.report.rules import RULES, Finding, Rule, explain, findings, rule_named, unknowns

__all__ = [
    "QUESTIONS",
    "RULES",
    "Finding",
    "Fitted",
    "OperatorTable",
    "Report",
    "Rule",
    "RunSummary",
    "as_text",
    "check_suffix",
    "describe_trace",
    "explain",
    "findings",
    "fit",
    "gather",
    "make_comparison",
    "make_findings",
    "make_page",
    "plain",
    "process_lines",
    "processes_table",
    "render_breakdown",
    "render_comparison",
    "render_compile",
    "render_idle",
    "render_lint",
    "render_memory",
    "render_path",
    "render_report",
    "render_result",
    "render_summary",
    "render_syncs",
    "report",
    "report_json",
    "rule_named",
    "run_summary",
    "show_processes",
    "show_run",
    "unknowns",
    "write_report",
    "write_whole",
]

publish(__name__, globals(), __all__)
