"""Rules about programs without device work: where the host spent its time, from spans and from sampled stacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from eventide._util import format as f
from eventide.report._gather import Report
from eventide.report._sample_tables import place
from eventide.report._steps import is_split
from eventide.report.rules._rule import RECORDED, Match, rule

_FIRST = 2.0  # a weight above every share
_STEPS, _IMPORTS_OF_STEPS = 0.5, 0.3  # the least weight of the steps of a training, and the most of its imports
_HOW = {
    "compile": "See what was compiled and why with `eventide trace compile`.",
    "data": "Load data beside the training: DataLoader(num_workers=...).",
    "optimizer": "Update all parameters at once: fused=True or foreach=True of the optimizer.",
    "backward": "See which operators took it: `eventide trace summary`.",
    "forward": "See which operators took it: `eventide trace summary`.",
    "other": "None of torch's operators ran for most of the steps: see the Python functions.",
}
_ELSEWHERE = ("compile", "sync", "step")  # categories with rules of their own, and frames of others


@rule(
    "program-raised",
    condition="An exception ended the program.",
    says="{error} ended the program; {function:name} raised it ({place}).",
    confidence=RECORDED,
)
def program_raised(report: Report) -> Iterator[Match]:
    """All else in the report is of a run that failed."""
    raised = (report.metadata.get("ended") or {}).get("raised")
    if raised:
        place = f"{PurePath(raised['file']).name}:{raised['line']}"
        yield Match(0.0, {"error": raised["error"], "function": raised["function"], "place": place}, weight=_FIRST)


@rule(
    "host-code",
    condition="Without device work, the spans of one name took 5 % of the time or more by themselves.",
    says="{name:name 50} took {time:time} by itself[ ({share:of wall})], in {count:count span}"
    "[, at once on threads of a trace of {whole:time}].",
)
def host_code(report: Report) -> Iterator[Match]:
    """Compiles and calls that block have rules of their own."""
    if report.breakdown.devices:
        return
    wall = report.summary.wall
    rows = [row for row in report.summary.host if row.category not in _ELSEWHERE]
    if rows and wall and rows[0].self_time * 20 >= wall:
        first = rows[0]
        time, beyond = first.self_time, first.self_time > wall
        values = {"name": first.name, "time": time, "wall": wall, "count": first.count}
        values |= {"share": None if beyond else time, "whole": wall if beyond else None}
        yield Match(min(time / wall, 1.0), values)


@rule(
    "python-function",
    condition="Without device work, a Python function was innermost in running threads for 5 % of the time or more.",
    says="{function:name} ({place}) ran {time:time} by itself[ ({share:of wall} of {wall:time})]"
    "[, on {threads} threads][ within {whole:time}].",
)
def python_function(report: Report) -> Iterator[Match]:
    """From sampled stacks; what it waited is not in it, nor are imports."""
    found, wall = report.samples, report.summary.wall
    if report.breakdown.devices or not found.functions or not wall:
        return
    first = found.functions[0]
    if first.self_running * 20 >= wall:
        threads = sum(1 for thread in found.threads if thread.running * 20 >= wall)
        values = {"function": first.function, "place": place(first), "time": first.self_running, "wall": wall}
        beyond = first.self_running > wall  # by several threads or processes at once
        values |= {"share": None if beyond else first.self_running, "whole": wall if beyond else None}
        share = min(first.self_running / wall, 1.0)
        yield Match(share, {**values, "threads": threads if threads > 1 else None})


@rule(
    "main-thread-waited",
    condition="Without device work, the main thread waited for 20 % of the time or more outside of imports.",
    says="The main thread waited {time:time} ({time:of wall}), most in {function:name} ({place}).",
)
def main_thread_waited(report: Report) -> Iterator[Match]:
    """For input, a lock, a child, another thread or the GIL. Other threads often wait for work: that is no finding."""
    found, wall = report.samples, report.summary.wall
    main = next((thread for thread in found.threads if thread.thread == "MainThread"), None)
    waits = max(found.main_waits, key=lambda row: row.self_waiting, default=None)
    if report.breakdown.devices or main is None or waits is None:
        return
    waited = sum(row.self_waiting for row in found.main_waits)
    if waited * 5 >= wall > 0:
        values = {"time": waited, "wall": wall, "function": waits.function, "place": place(waits)}
        several = len(report.metadata.get("processes") or ()) > 1  # then it waited for the others, as a rule
        yield Match(min(waited / wall, 1.0), values, weight=(0.2 if several else 0.9) * min(waited / wall, 1.0))


@rule(
    "imports",
    condition="Imports took 5 % of the sampled time or more, and 100 ms or more.",
    says="Imports took {time:time}[ ({share:of wall} of {wall:time})][, by several threads or processes within {whole:time}], "
    "most in {module} ({most:time}).",
    remedy="Import where it is used what a run may not need; `python -X importtime` lists each module.",
    confidence=RECORDED,
)
def imports(report: Report) -> Iterator[Match]:
    """From sampled stacks, of all threads. A longer training imports no more: its steps are more important."""
    found = report.samples
    time, wall = found.import_time, max(report.summary.wall, found.wall)
    if found.imports and time >= 100_000_000 and time * 20 >= wall:
        first = found.imports[0]
        share, beyond = min(time / wall, 1.0), time > wall
        values = {"time": time, "wall": wall, "module": first.module, "most": first.time}
        values |= {"share": None if beyond else time, "whole": wall if beyond else None}
        yield Match(share, values, weight=min(share, _IMPORTS_OF_STEPS) if is_split(report.phases) else share)


@rule(
    "step-parts",
    condition="Without device work, the parts of a training's steps were recorded.",
    says="Of {steps:count step} (median {median:time}): {parts}.",
    remedy="{how}",
)
def step_parts(report: Report) -> Iterator[Match]:
    """What a longer run spends its time on; compiling has a rule of its own."""
    if report.breakdown.devices or not is_split(report.phases):
        return
    lengths = sorted(step.duration for step in report.phases.steps)
    whole, totals = max(sum(lengths), 1), report.phases.totals()
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    parts = ", ".join(f"{f.percent(time, whole)} {phase}" for phase, time in ordered if time * 20 >= whole)
    share = min((whole - totals["compile"]) / max(report.summary.wall, 1), 1.0)
    values = {"steps": len(lengths), "median": lengths[len(lengths) // 2], "parts": parts, "how": _HOW[ordered[0][0]]}
    yield Match(share, values, weight=max(share, _STEPS))
