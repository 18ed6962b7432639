"""Answers about a trace: pure functions, Trace in, frozen result out. Times are nanoseconds; parts sum to their whole.

summary        by name: count, total, self, min, median, max          _summary
breakdown      computation, communication, copies, overlap, idle      _breakdown
idle           every gap and its cause                                _idle, _gaps, _host_late, _idle_rows
syncs          every time the host blocked                            _syncs
memory         the curve, its peak, who held it                       _memory, _memory_blocks
compiles       what was compiled, how often                           _compile
samples        where the sampled Python stacks were                    _samples
critical_path  what the end of the trace was waiting for              _critical_path, _path_*
lint           what is odd about the recording itself                  _lint, _overlaps
compare        what explains the difference of two traces             _compare
View           the trace as arrays; answers about one trace share it  _view, _launches, _blocking, _steps
               intervals, and who is innermost on a thread            _intervals, _nesting
"""

from eventide.analysis._breakdown import Breakdown, DeviceBreakdown, Part, breakdown
from eventide.analysis._compare import Comparison, Delta, StepDelta, compare
from eventide.analysis._compile import Compile, CompileRow, compiles
from eventide.analysis._critical_path import KINDS, CriticalPath, PathRow, critical_path
from eventide.analysis._idle import Idle, Lane, idle
from eventide.analysis._idle_rows import CAUSES, Gap
from eventide.analysis._lint import Lint, LintFinding, lint
from eventide.analysis._memory import DeviceMemory, Holder, Memory, memory
from eventide.analysis._path_slack import Next
from eventide.analysis._samples import SampleRow, Samples, samples
from eventide.analysis._steps import Step, steps_of
from eventide.analysis._summary import NameRow, StreamRow, Summary, ThreadRow, summary
from eventide.analysis._syncs import Sync, SyncRow, Syncs, syncs
from eventide.analysis._view import View

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
    "Part",
    "PathRow",
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
    "samples",
    "steps_of",
    "summary",
    "syncs",
]
