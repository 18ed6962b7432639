"""What does the critical path cost per node of the graph, against HTA, which builds one with networkx?

The trace is nvidia_alexnet of ../shared/traces where that folder is, read beforehand by both. A node is a start or
an end of an event: two for each event of the trace, for both.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare
from eventide.analysis import critical_path

TRACE = Path(__file__).resolve().parents[2] / "shared" / "traces" / "nvidia_alexnet.json.gz"
BAR = 1 / 50


def rows(options: Options) -> Iterator[Row]:
    what = "critical path with slack, a node"
    if not TRACE.exists():
        return  # nothing that HTA can walk comes with the project
    trace = et.open_trace(TRACE)
    few = Options(rounds=min(options.rounds, 5), quick=options.quick)
    yield compare(what, "HTA", ours(trace), theirs(), few, bar=BAR, unit="us", note="nvidia_alexnet, read before")


def ours(trace: et.Trace) -> Round:
    def measure() -> float:
        begin = time.perf_counter()
        critical_path(trace)
        return (time.perf_counter() - begin) * 1e6 / (2 * trace.spans.num_rows)

    return measure


def theirs() -> Round | Missing:
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError:
        return Missing("pip install -r requirements/bench.txt")
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = TraceAnalysis(trace_files={0: str(TRACE)}, include_last_profiler_step=True)

    def measure() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.perf_counter()
            graph, _ = analysis.critical_path_analysis(rank=0, annotation="", instance_id=None)
            return (time.perf_counter() - begin) * 1e6 / len(graph.node_list)

    return measure
