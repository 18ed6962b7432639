"""HolisticTraceAnalysis on trace files, in a process of its own: prints one JSON object, path -> what it says."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from itertools import pairwise
from typing import Any

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def answers(path: str, critical_path: bool) -> dict[str, Any]:
    analysis = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
    rows = analysis.t.traces[0]
    words = analysis.t.symbol_table.get_sym_table()
    device = rows[rows.stream != -1]
    names = device.groupby("name").dur.agg(["sum", "count"])
    idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    found: dict[str, Any] = {
        "temporal": analysis.get_temporal_breakdown(visualize=False).to_dict("records")[0],
        "idle": [[int(r.stream), r.idle_category, float(r.idle_time)] for r in idle.itertuples()],
        "origin": float(analysis.t.min_ts),  # its times count from here
        "kernels": {words[name]: [float(row["sum"]), int(row["count"])] for name, row in names.iterrows()},
    }
    if critical_path:
        graph, fine = analysis.critical_path_analysis(rank=0, annotation="", instance_id=None)
        assert fine
        found["path"] = [edge_of(graph, rows, words, *pair) for pair in pairs(graph.critical_path_nodes)]
        found["nodes"] = len(graph.node_list)
    return found


def pairs(nodes: list[int]) -> list[tuple[int, int]]:
    return list(pairwise(nodes))


def edge_of(graph: Any, rows: Any, words: list[str], one: int, other: int) -> dict[str, Any]:
    """Microseconds since the first row; `name` is the event that the edge is attributed to, if any."""
    begin, end = graph.node_list[one], graph.node_list[other]
    edge = graph.edges[one, other]["object"]
    event = graph.edge_to_event_map.get((one, other))
    return {
        "type": edge.type.value.removeprefix("critical_path_"),
        "start": float(begin.ts),
        "end": float(end.ts),
        "weight": float(edge.weight),
        "name": words[rows.name.loc[event]] if event is not None and event >= 0 else "",
        "from": words[rows.name.loc[begin.ev_idx]],
        "to": words[rows.name.loc[end.ev_idx]],
        "correlation": int(rows.correlation.loc[end.ev_idx]),
    }


if __name__ == "__main__":
    with_path = {arg.removeprefix("+") for arg in sys.argv[1:] if arg.startswith("+")}
    paths = [arg.removeprefix("+") for arg in sys.argv[1:]]
    sys.stdout.write(json.dumps({path: answers(path, path in with_path) for path in paths}) + "\n")
