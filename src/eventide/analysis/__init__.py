"""Answers about a trace: pure functions, Trace in, frozen result out. Times are nanoseconds; parts sum to their whole.

summary        by name: count, total, self, min, median, max               _summary
operators      the same with FLOPs and input shapes: the table of a profile _summary
breakdown      computation, communication, copies, overlap, idle           _breakdown
idle           every gap and its cause                                     _idle
syncs          every time the host blocked                                 _syncs
memory         the curve, its peak, the allocations that held it           _memory
compiles       what was compiled, how often                                _compile
samples        functions of the sampled Python stacks                      _samples
critical_path  what the end of the trace was waiting for                   _critical_path, _path_graph
lint           defects of the recording itself                             _lint
compare        what explains the difference of two traces                  _compare
Result         the base of all results: print, to_arrow(), to_pandas()     _result
View           the trace as arrays, shared by several analyses             _view
               launches, waits and blocking calls                          _host_calls
               intervals; the innermost span of a thread                   _intervals, _nesting

`import eventide` registers them as methods of Trace: ``et.open_trace(path).summary()``.
"""

from eventide.analysis._breakdown import Breakdown, DeviceBreakdown, Part, breakdown
from eventide.analysis._compare import Comparison, Delta, StepDelta, compare
from eventide.analysis._compile import Compile, CompileRow, compiles
from eventide.analysis._critical_path import KINDS, CriticalPath, Next, PathRow, critical_path
from eventide.analysis._idle import CAUSES, Gap, Idle, Lane, idle
from eventide.analysis._lint import Lint, LintFinding, lint
from eventide.analysis._memory import DeviceMemory, Holder, Memory, memory
from eventide.analysis._result import Result
from eventide.analysis._samples import SampleRow, Samples, samples
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
from eventide.analysis._view import Step, View, steps_of

__all__ = [
    "CAUSES",
    "KINDS",
    "Breakdown",
    "Comparison",
    "Compile",
    "CompileRow",
    "CriticalPath",
    "Delta",
    "DeviceBreakdown",
    "DeviceMemory",
    "Gap",
    "Holder",
    "Idle",
    "Lane",
    "Lint",
    "LintFinding",
    "Memory",
    "NameRow",
    "Next",
    "OperatorRow",
    "Operators",
    "Part",
    "PathRow",
    "Result",
    "SampleRow",
    "Samples",
    "Step",
    "StepDelta",
    "StreamRow",
    "Summary",
    "Sync",
    "SyncRow",
    "Syncs",
    "ThreadRow",
    "View",
    "breakdown",
    "compare",
    "compiles",
    "critical_path",
    "idle",
    "lint",
    "memory",
    "operators",
    "samples",
    "steps_of",
    "summary",
    "syncs",
]
