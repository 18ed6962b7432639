"""Operators of torch in detail: each becomes a span with the requested details. Imports torch.

Details come from a TorchDispatchMode, below autograd: what runs, forward and backward. Such a mode belongs to one
thread; the profiled thread has it during the profile, others while they are inside the profiled module. Profiles at the
same time share this: an operator is recorded once, with all requested details. Composite operators, those of other
threads, and all without details come from torch's callbacks (_operators.py).
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from typing import Any, NamedTuple, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from torch.utils.flop_counter import flop_registry

from eventide import _native
from eventide.integrations.torch._inputs import describe_inputs
from eventide.integrations.torch._memory import TorchMemory
from eventide.integrations.torch._modules import innermost
from eventide.recording import record_span

_log = logging.getLogger("eventide.profiler")
_SEQUENCES = 1 << 16  # operators of the forward whose module is kept for the backward
_listeners: list[OpsListener] = []  # immutable: replaced
_local = threading.local()  # .depth: number of trace_this_thread(); .mode
_module_of_sequence: dict[int, str] = {}  # by autograd's sequence number
_lock = threading.Lock()  # guards the replacement of _listeners
_indices = itertools.count()  # of operators, until nothing listens; in torch's files, of all events
# record_function() calls these two; its span, with its name, comes from torch's callbacks.
_ANNOTATION = ("profiler::_record_function_enter", "profiler::_record_function_exit")


class Options(Protocol):
    """The requested details; et.profile has flags of these names."""

    @property
    def in_detail(self) -> bool: ...
    @property
    def report_input_shapes(self) -> bool: ...
    @property
    def profile_memory(self) -> bool: ...
    @property
    def with_stack(self) -> bool: ...
    @property
    def with_flops(self) -> bool: ...
    @property
    def with_modules(self) -> bool: ...


class OpsListener:
    """What one profile requests, and what it counts. Without `mode` nothing is done here: callbacks record."""

    def __init__(self, options: Options, *, mode: bool) -> None:
        self.options = options
        self._mode = mode
        self.flops = {"forward": 0, "backward": 0}
        self.flops_by_module: dict[str, int] = {}
        self.memory: TorchMemory | None = None
        self._thread: threading.Thread | None = None  # which started it

    def start(self) -> None:
        """Trace the operators of this thread, and of those that call trace_this_thread()."""
        if not self._mode:
            return
        with _lock:
            _native.torch_operators_other_source(True)
            if self.options.profile_memory:
                shared = [one.memory for one in _listeners if one.memory is not None]
                before = self.memory.peak if self.memory is not None else {}
                self.memory = shared[0] if shared else TorchMemory()
                self.memory.peak.update(before)
            _replace([*_listeners, self])
        self._thread = threading.current_thread()
        trace_this_thread()

    def stop(self) -> None:
        """Stop tracing. Called on another thread than start(), the mode stays there and does nothing.

        If that is the main thread, it removes the mode as soon as it can.
        """
        if not self._mode:
            return
        global _indices  # noqa: PLW0603  (guarded by _lock)
        with _lock:
            _native.torch_operators_other_source(False)
            _replace([one for one in _listeners if one is not self])
            if self.memory is not None and not any(one.memory is self.memory for one in _listeners):
                self.memory.close()
            if not _listeners:
                _module_of_sequence.clear()
                _indices = itertools.count()
        if self._thread is threading.current_thread():
            leave_this_thread()
        elif self._thread is threading.main_thread():
            _native.call_on_main_thread(_leave_if_innermost)

    def count(self, flops: int, phase: str, module: str) -> None:
        """Add the operations of one operator."""
        self.flops[phase] += flops
        if module:
            self.flops_by_module[module] = self.flops_by_module.get(module, 0) + flops


def _replace(listeners: list[OpsListener]) -> None:
    global _listeners  # noqa: PLW0603  (a running operator continues with the old one)
    _listeners = listeners


def requested(flag: str) -> bool:
    """Does any running profile request this?"""
    return any(getattr(one.options, flag) for one in _listeners)


def trace_this_thread() -> None:
    """Each call needs one leave_this_thread()."""
    _local.depth = getattr(_local, "depth", 0) + 1
    if _local.depth == 1:
        _native.torch_operators_mute(True)
        _local.mode = _Mode()
        _local.mode.__enter__()


def leave_this_thread() -> None:
    """The last one removes the mode."""
    depth = getattr(_local, "depth", 0)
    if depth:
        _local.depth = depth - 1
        if depth == 1:
            mode, _local.mode = _local.mode, None
            mode.__exit__(None, None, None)
            _native.torch_operators_mute(False)


def _leave_if_innermost() -> None:
    """Called at any point of this thread: a mode of the program that was entered after ours must end first."""
    if _local.__dict__.get("mode") is _get_current_dispatch_mode():
        leave_this_thread()


class _Mode(TorchDispatchMode):  # type: ignore[misc]  # torch is not installed where types are checked
    """Records each operator and changes nothing."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Without this, torch.compile would compile nothing while the mode is active."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _listeners or func._schema.name.startswith(_ANNOTATION):  # noqa: SLF001  (as below)
            return func(*args, **kwargs)
        if torch.is_inference_mode_enabled() and requested("with_flops") and func._overloadpacket not in flop_registry:  # noqa: SLF001
            # Without autograd, composite operators are not decomposed; only their parts have a formula.
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        _native.torch_operator_in_detail(func._schema.name)  # noqa: SLF001  (as below)
        start = time.monotonic_ns()
        try:
            out = func(*args, **kwargs)
        except BaseException as error:
            _record_guarded(_Call(func, args, kwargs, error), start, time.monotonic_ns())
            raise
        _record_guarded(_Call(func, args, kwargs, out), start, time.monotonic_ns())
        return out


class _Call(NamedTuple):
    """One operator: its arguments, and its result or exception."""

    func: Any
    args: Any
    kwargs: Any
    out: Any


def _record_guarded(call: _Call, start: int, end: int) -> None:
    """One operator is complete. An error of Eventide is logged once and never reaches the program."""
    _native.torch_operators_hide(True)
    try:
        _record(call, start, end)
    except Exception:  # noqa: BLE001  (never into the program)
        if not _local.__dict__.get("failed"):
            _local.failed = True
            _log.exception("an operator of torch was not recorded: %s", call.func)
    finally:
        _native.torch_operators_hide(False)


def _record(call: _Call, start: int, end: int) -> None:
    node = torch._C._current_autograd_node()  # noqa: SLF001  (torch has no public name for it)
    about: dict[str, Any] = {} if node is None else {"backward": node.name()}
    module = _module_of(node)
    if module and requested("with_modules"):
        about["Module Hierarchy"] = module
    if requested("report_input_shapes"):
        about |= describe_inputs(call.func, call.args, call.kwargs)
    about["Ev Idx"] = next(_indices)
    if isinstance(call.out, BaseException):
        about["error"] = f"{type(call.out).__name__}: {call.out}"
    else:
        if requested("with_flops"):
            _count_flops(call, about, module)
        for memory in {one.memory for one in _listeners if one.memory is not None}:
            memory.track(call.out, max(start, end - 1), (call.args, call.kwargs))
    if _native.torch_operators_muted():  # else autograd entered the mode on its own thread, and the callbacks record it
        record_span(call.func._schema.name, "op", start, end, about, stack=requested("with_stack"))  # noqa: SLF001  (as above)


def _module_of(node: Any) -> str:
    """The innermost module: of this thread now, or of the operator whose gradient this is."""
    if node is not None:
        return _module_of_sequence.get(node._sequence_nr(), "")  # noqa: SLF001  (as above)
    module = innermost()
    if module and torch.is_grad_enabled() and len(_module_of_sequence) < _SEQUENCES:
        # The operator got its number just before; its node in the backward has the same.
        _module_of_sequence[torch._C._autograd._get_sequence_nr() - 1] = module  # noqa: SLF001  (as above)
    return module


def _count_flops(call: _Call, about: dict[str, Any], module: str) -> None:
    formula = flop_registry.get(call.func._overloadpacket)  # noqa: SLF001  (as above)
    if formula is not None:
        about["flops"] = count = int(formula(*call.args, **call.kwargs, out_val=call.out))
        for one in _listeners:
            one.count(count, "backward" if "backward" in about else "forward", module)
