"""Answers about a trace: pure functions, Trace in, frozen result out. Times are nanoseconds; parts sum to their whole.

summary        by name: count, total, self, min, median, max               _summary
operators      the same with FLOPs and input shapes: the table of a profile _summary
span_nodes     every span with its parent; self_time_by_stack              _span_tree
breakdown      computation, communication, copies, overlap, idle           _breakdown
idle           every gap and its cause                                     _idle
syncs          every time the host blocked                                 _syncs
memory         the curve, its peak, the allocations that held it           _memory
compiles       what was compiled, how often                                _compile
processes      the processes of one run: which ran, waited, failed         _processes
samples        functions, lines, threads and imports of the sampled stacks _samples
flame          the sampled stacks as a tree                                _flame
with_sampled_spans  the sampled stacks as spans, for a timeline            _sampled_spans
step_phases    steps: data, forward, backward, optimizer, compiling        _step_phases
critical_path  what the end of the trace was waiting for                   _critical_path, _path_graph
mark_critical_path  the path as a track of its trace, for a viewer         _path_trace
lint           defects of the recording itself                             _lint
compare        what explains the difference of two traces                  _compare
Limit          how much the difference may be                              _limits
replay, what_if, best_edits   the schedule again, and with edits           schedule/
queue, copies, kernels, flops ...   what a GPU engineer asks               metrics/
Result         the base of all results: print, to_arrow(), to_pandas()     _result
View           the trace as arrays, shared by several analyses             _view
               launches, waits and blocking calls                          _host_calls
               threads that take turns; when the program was traced        _host_lines, _extent
               memory by the span that allocated it                        _span_memory
               intervals; the innermost span of a thread                   _intervals, _nesting

`import eventide` registers them as methods of Trace: ``et.open_trace(path).summary()``.
"""

from eventide._util.public_names import publish
from eventide.analysis._breakdown import Breakdown, DeviceBreakdown, Part, breakdown
from eventide.analysis._compare import Comparison, Delta, StepDelta, compare
from eventide.analysis._compile import Compile, CompileRow, compiles
from eventide.analysis._critical_path import KINDS, CriticalPath, Next, PathRow, critical_path
from eventide.analysis._extent import cut_short
from eventide.analysis._flame import FlameNode, flame
from eventide.analysis._idle import CAUSES, Gap, Idle, Lane, idle
from eventide.analysis._intervals import Shares, shares
from eventide.analysis._limits import Limit
from eventide.analysis._lint import Lint, LintFinding, lint
from eventide.analysis._memory import DeviceMemory, Holder, Memory, memory
from eventide.analysis._path_trace import mark_critical_path
from eventide.analysis._processes import Process, Processes, Straggler, processes
from eventide.analysis._result import Result
from eventide.analysis._sampled_spans import with_sampled_spans
from eventide.analysis._samples import RUNPY, ImportRow, SampledThread, SampleRow, Samples, samples
from eventide.analysis._span_tree import SpanNode, self_time_by_stack, span_nodes
from eventide.analysis._step_phases import PHASES, Phases, StepPhases, step_phases
from eventide.analysis._summary import (
    NameRow,
    OperatorRow,
    Operators,
    StreamRow,
    Summary,
    ThreadRow,
    operators,
    summary,
)
from eventide.analysis._syncs import Sync, SyncRow, Syncs, syncs
from eventide.analysis._view import COMMUNICATION, COMPUTE, COPY, Step, View, json_of, steps_of
from eventide.analysis.metrics._copies import Copies, CopyRow, copies
from eventide.analysis.metrics._counter_ranges import CounterRanges, RangeRow, counter_ranges
from eventide.analysis.metrics._flops import Flops, FlopsRow, flops
from eventide.analysis.metrics._graphs import GraphRow, Graphs, graphs
from eventide.analysis.metrics._kernels import DeviceUse, KernelRow, Kernels, kernels
from eventide.analysis.metrics._launch_costs import LaunchCosts, LaunchRow, launch_costs
from eventide.analysis.metrics._operator_costs import OperatorCost, OperatorCosts, operator_costs
from eventide.analysis.metrics._operator_kernels import OperatorDelta
from eventide.analysis.metrics._phase_times import PhaseRow, PhaseTimes, phase_times
from eventide.analysis.metrics._queue import Queue, QueueRow, queue
from eventide.analysis.metrics._scopes import ScopeRow, Scopes, scopes
from eventide.analysis.metrics._sequences import SequenceRow, Sequences, sequences
from eventide.analysis.metrics._step_costs import StepCost, StepCosts, step_costs
from eventide.analysis.schedule._best_edits import BestEdit, BestEdits, best_edits
from eventide.analysis.schedule._edits import (
    Edit,
    add_streams,
    drop_sync,
    drop_wait,
    faster_copies,
    fuse,
    launch_cost,
    move,
    overlap,
    queue_depth,
    remove,
    scale,
)
from eventide.analysis.schedule._interval import Reason
from eventide.analysis.schedule._order_check import Verdict
from eventide.analysis.schedule._replay import Replay, ReplayRow, replay
from eventide.analysis.schedule._what_if import Critical, WhatIf, WhatIfRow, what_if

__all__ = [
    "CAUSES",
    "COMMUNICATION",
    "COMPUTE",
    "COPY",
    "KINDS",
    "PHASES",
    "RUNPY",
    "BestEdit",
    "BestEdits",
    "Breakdown",
    "Comparison",
    "Compile",
    "CompileRow",
    "Copies",
    "CopyRow",
    "CounterRanges",
    "Critical",
    "CriticalPath",
    "Delta",
    "DeviceBreakdown",
    "DeviceMemory",
    "DeviceUse",
    "Edit",
    "FlameNode",
    "Flops",
    "FlopsRow",
    "Gap",
    "GraphRow",
    "Graphs",
    "Holder",
    "Idle",
    "ImportRow",
    "KernelRow",
    "Kernels",
    "Lane",
    "LaunchCosts",
    "LaunchRow",
    "Limit",
    "Lint",
    "LintFinding",
    "Memory",
    "NameRow",
    "Next",
    "OperatorCost",
    "OperatorCosts",
    "OperatorDelta",
    "OperatorRow",
    "Operators",
    "Part",
    "PathRow",
    "PhaseRow",
    "PhaseTimes",
    "Phases",
    "Process",
    "Processes",
    "Queue",
    "QueueRow",
    "RangeRow",
    "Reason",
    "Replay",
    "ReplayRow",
    "Result",
    "SampleRow",
    "SampledThread",
    "Samples",
    "ScopeRow",
    "Scopes",
    "SequenceRow",
    "Sequences",
    "Shares",
    "SpanNode",
    "Step",
    "StepCost",
    "StepCosts",
    "StepDelta",
    "StepPhases",
    "Straggler",
    "StreamRow",
    "Summary",
    "Sync",
    "SyncRow",
    "Syncs",
    "ThreadRow",
    "Verdict",
    "View",
    "WhatIf",
    "WhatIfRow",
    "add_streams",
    "best_edits",
    "breakdown",
    "compare",
    "compiles",
    "copies",
    "counter_ranges",
    "critical_path",
    "cut_short",
    "drop_sync",
    "drop_wait",
    "faster_copies",
    "flame",
    "flops",
    "fuse",
    "graphs",
    "idle",
    "json_of",
    "kernels",
    "launch_cost",
    "launch_costs",
    "lint",
    "mark_critical_path",
    "memory",
    "move",
    "operator_costs",
    "operators",
    "overlap",
    "phase_times",
    "processes",
    "queue",
    "queue_depth",
    "remove",
    "replay",
    "samples",
    "scale",
    "scopes",
    "self_time_by_stack",
    "sequences",
    "shares",
    "span_nodes",
    "step_costs",
    "step_phases",
    "steps_of",
    "summary",
    "syncs",
    "what_if",
    "with_sampled_spans",
]

publish(__name__, globals(), __all__)
