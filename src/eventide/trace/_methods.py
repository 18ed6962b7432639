"""Methods of Trace that packages above `trace` register: analyses and reports.

A lower package never imports a higher one, not even for types. So a higher package registers its function by name, and
the function is imported when the method is first called:

    from eventide.trace import register_method

    register_method("rows", "my_package", "rows_of", "The number of rows.")
    trace.rows("spans")                # my_package.rows_of(trace, "spans")

`import eventide` registers those of Eventide; ``Declared`` has their types and texts.
"""

# The methods of Declared have a signature and a text only.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from eventide._util.subscription import Subscription
from eventide.errors import UsageValueError

if TYPE_CHECKING:
    import os

    import pyarrow as pa

    from eventide.trace._trace import Trace


class Result(Protocol):
    """What an analysis returns; the class in ``eventide.analysis`` has the exact types of the fields."""

    def to_arrow(self) -> pa.Table:
        """The rows of the result as an Arrow table."""

    def to_pandas(self) -> Any:
        """The rows of the result as a DataFrame; needs pandas."""

    def __getattr__(self, name: str) -> Any:
        """A field of the result."""


class Declared:
    """The signatures and texts of the methods that `import eventide` registers, for help() and for type checkers."""

    __slots__ = ()

    def summary(self) -> Result:
        """Count and add up spans by name: an ``eventide.analysis.Summary``."""

    def operators(self, *, by_shape: bool = False, by_stack: int = 0) -> Result:
        """Spans by name, with FLOPs and input shapes: an ``eventide.analysis.Operators``."""

    def breakdown(self) -> Result:
        """Split the time of each device: an ``eventide.analysis.Breakdown``."""

    def idle(self, by: Literal["device", "stream"] = "device") -> Result:
        """Explain the gaps of each device or stream: an ``eventide.analysis.Idle``."""

    def syncs(self) -> Result:
        """Every call that blocked the host until a device was done: an ``eventide.analysis.Syncs``."""

    def memory(self) -> Result:
        """Memory over time, its peak, and which allocations held it: an ``eventide.analysis.Memory``."""

    def compiles(self) -> Result:
        """What was compiled, how often and for how long: an ``eventide.analysis.Compile``."""

    def samples(self) -> Result:
        """Time by function, line, thread and import of sampled stacks: an ``eventide.analysis.Samples``."""

    def step_phases(self) -> Result:
        """Steps split into data, forward, backward, optimizer, compiling: an ``eventide.analysis.Phases``."""

    def critical_path(self, step: str | None = None) -> Result:
        """What the end of the trace or of a step waited for: an ``eventide.analysis.CriticalPath``."""

    def queue(self) -> Result:
        """Work launched and not ended, over time, and full queues: an ``eventide.analysis.Queue``."""

    def replay(self) -> Result:
        """The schedule that the dependency graph gives, and its error: an ``eventide.analysis.Replay``."""

    def copies(self) -> Result:
        """Copies of memory by kind: bytes, time, bandwidth: an ``eventide.analysis.Copies``."""

    def kernels(self) -> Result:
        """Kernels by name; occupancy, SM efficiency, tensor cores: an ``eventide.analysis.Kernels``."""

    def launch_costs(self) -> Result:
        """Launching calls beside the work that they launched: an ``eventide.analysis.LaunchCosts``."""

    def operator_costs(self) -> Result:
        """Operators: time on the host, and of the work launched: an ``eventide.analysis.OperatorCosts``."""

    def step_costs(self) -> Result:
        """Each step split by what kept it: an ``eventide.analysis.StepCosts``."""

    def scopes(self) -> Result:
        """Time by annotation of the program and by nn.Module: an ``eventide.analysis.Scopes``."""

    def phase_times(self) -> Result:
        """Each step by data loading, forward, backward, optimizer: an ``eventide.analysis.PhaseTimes``."""

    def flops(self) -> Result:
        """FLOP/s and bytes of matrix operators by shape, and the peak: an ``eventide.analysis.Flops``."""

    def sequences(self) -> Result:
        """Sequences of kernels that repeat: what a fusion would help: an ``eventide.analysis.Sequences``."""

    def graphs(self) -> Result:
        """Launches of CUDA and HIP graphs as units: an ``eventide.analysis.Graphs``."""

    def counter_ranges(self) -> Result:
        """Hardware counters of CUPTI ranges, by range and operator: an ``eventide.analysis.CounterRanges``."""

    def what_if(self, *edits: Any) -> Result:
        """The run with these edits, made by ``eventide.analysis.scale(...)`` and others: a ``WhatIf``."""

    def best_edits(self, count: int = 10) -> Result:
        """The edits that save most, found by search: an ``eventide.analysis.BestEdits``."""

    def mark_critical_path(self, step: str | None = None) -> TraceMethods:
        """The same trace with one more track, its critical path: save it for a viewer."""

    def redacted(self, *, arguments: bool = True) -> Trace:
        """A copy without directories of files and, with `arguments`, without arguments and command lines."""

    def lint(self) -> Result:
        """Defects of the recording itself: an ``eventide.analysis.Lint``."""

    def compare(self, b: TraceMethods) -> Result:
        """What explains the difference to the trace `b`: an ``eventide.analysis.Comparison``."""

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str = "trace") -> str:
        """The text of ``eventide report``; with a path it also writes that text, a .html page or .json results."""


if TYPE_CHECKING:
    _Base = Declared
else:
    _Base = object


class TraceMethods(_Base):
    """The base of Trace: has the registered methods."""

    __slots__ = ()


def register_method(name: str, module: str, function: str, doc: str = "") -> Subscription:
    """Make ``trace.name(...)`` call ``module.function(trace, ...)``, until the Subscription is closed.

    The first call imports `module`. A method that Trace defines itself takes precedence.
    """
    if not name.isidentifier() or name.startswith("_"):
        raise UsageValueError(f"a method of Trace cannot be named {name!r}; use a public identifier")
    if name in TraceMethods.__dict__:
        there = TraceMethods.__dict__[name].target
        raise UsageValueError(f"Trace.{name} is already {there}; register {module}.{function} under another name")
    setattr(TraceMethods, name, _method(name, module, function, doc))
    return Subscription(f"Trace.{name}", lambda: delattr(TraceMethods, name))


def _method(name: str, module: str, function: str, doc: str) -> Any:
    def method(self: TraceMethods, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), function)(self, *args, **kwargs)

    declared = Declared.__dict__.get(name)
    if declared is not None:
        method.__wrapped__ = declared  # type: ignore[attr-defined]  # inspect.signature follows it
        doc = doc or declared.__doc__
    method.__name__, method.__qualname__, method.__doc__ = name, f"Trace.{name}", doc
    method.__module__ = "eventide"
    method.target = f"{module}.{function}"  # type: ignore[attr-defined]  # for messages
    return method
