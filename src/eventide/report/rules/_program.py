"""Rules about programs without device work: where the host spent its time, from spans and from sampled stacks."""

from __future__ import annotations

from collections.abc import Iterator

from eventide.report._gather import Report
from eventide.report._sample_tables import place
from eventide.report.rules._rule import RECORDED, Match, rule

_ELSEWHERE = ("compile", "sync", "step")  # categories with rules of their own, and frames of others


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
        yield Match(min(waited / wall, 1.0), values, weight=0.9 * min(waited / wall, 1.0))


@rule(
    "imports",
    condition="Imports took 5 % of the sampled time or more, and 100 ms or more.",
    says="Imports took {time:time} ({time:of wall} of {wall:time}), most in {module} ({most:time}).",
    remedy="Import where it is used what a run may not need; `python -X importtime` lists each module.",
    confidence=RECORDED,
)
def imports(report: Report) -> Iterator[Match]:
    """From sampled stacks, of all threads."""
    found = report.samples
    time, wall = found.import_time, max(report.summary.wall, found.wall)
    if found.imports and time >= 100_000_000 and time * 20 >= wall:
        first = found.imports[0]
        share = min(time / wall, 1.0)
        yield Match(share, {"time": time, "wall": wall, "module": first.module, "most": first.time})
