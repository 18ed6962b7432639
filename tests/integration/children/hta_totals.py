"""Loads a Chrome trace with HolisticTraceAnalysis and prints what it found, as one JSON object on the last line."""

import json
import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found, import-untyped, unused-ignore]

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
frame = analysis.t.get_trace(0)
symbols = analysis.t.symbol_table.get_sym_table()
device = frame[frame["stream"] >= 0]
totals: dict[str, float] = {}
for name, duration in zip(device["name"], device["dur"], strict=True):
    totals[symbols[name]] = totals.get(symbols[name], 0.0) + float(duration)
temporal = analysis.get_temporal_breakdown(visualize=False)
sys.stdout.write(
    json.dumps(
        {
            "rows": len(frame),
            "totals": totals,
            "streams": sorted({int(stream) for stream in device["stream"]}),
            "compute": float(temporal["compute_time(us)"].iloc[0]),
            "idle": float(temporal["idle_time(us)"].iloc[0]),
            "kernel": float(temporal["kernel_time(us)"].iloc[0]),
        }
    )
    + "\n"
)
