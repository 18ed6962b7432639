"""`eventide trace queue|...`: analyses that print one table, each a row of a list."""

from typing import Any

from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, NewestTrace
from eventide.cli.commands._analyses import Rows, run_analysis

# Command, function of eventide.analysis, help.
_ONE_TABLE = (
    ("queue", "queue", "Work launched and not ended, over time by stream; time blocked on a full queue."),
    ("replay", "replay", "The schedule that the dependency graph gives; how much of the trace it explains."),
    ("copies", "copies", "Copies of memory by kind: bytes, time, bandwidth."),
    ("kernels", "kernels", "Kernels by name: time, occupancy, SM efficiency, tensor cores, short ones."),
    (
        "launches",
        "launch_costs",
        "Launching calls beside the work that they launched: outliers, work shorter than its call.",
    ),
    ("steps", "step_costs", "Each step split by what kept it: kernels, copies, collectives, data loading, operators."),
    ("operators", "operator_costs", "Operators: their time on the host, and of the work that they launched."),
    ("scopes", "scopes", "Time by annotation of the program and by nn.Module, on the host and on devices."),
    ("phases", "phase_times", "Each step by data loading, forward, backward, optimizer and communication."),
    ("flops", "flops", "FLOP/s and bytes of matrix operators by shape, against the device's peak."),
    ("sequences", "sequences", "Sequences of kernels that repeat: what a fusion would help."),
    ("graphs", "graphs", "Launches of CUDA and HIP graphs as units."),
    ("ranges", "counter_ranges", "Hardware counters of CUPTI ranges, by range and operator."),
)


def _add(name: str, function: str, text: str) -> None:
    def command(trace: NewestTrace = None, rows: Rows = 20, as_json: Json = False) -> None:
        from eventide import analysis
        from eventide.report import render_result

        analyse: Any = getattr(analysis, function)
        run_analysis(trace, analyse, lambda result: render_result(result, rows), as_json)

    command.__doc__ = text
    trace_app.command(name=name)(command)


for _row in _ONE_TABLE:
    _add(*_row)
