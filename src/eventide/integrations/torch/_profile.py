"""All that a profile traces of torch, switched on and off together. Imports torch."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from eventide.integrations.torch import _operators as operators
from eventide.integrations.torch._dispatch import OpsListener, Options, leave_this_thread, trace_this_thread
from eventide.integrations.torch._kineto import Wanted, has_devices
from eventide.integrations.torch._modules import TorchModules
from eventide.integrations.torch._session import Session, suspend
from eventide.integrations.torch._steps import TorchSteps

_log = logging.getLogger("eventide.profiler")


class TorchWatch:
    """Created and closed on the profiled thread. `module` is a weak reference, or None."""

    def __init__(self, module: Callable[[], Any] | None, options: Options, reached: Callable[[int], None]) -> None:
        self._module: Callable[[], Any] = module or (lambda: None)
        self._options = options
        self._steps = TorchSteps(reached)
        self._ops: OpsListener | None = None
        self._devices: Session | None = None
        self._resume: Callable[[], None] = lambda: None
        self._stop_operators: Callable[[], None] = lambda: None
        self._host_on = False
        self._modules: TorchModules | None = None

    def start(self) -> None:
        """Trace operators and modules."""
        if self._ops is None:
            self._resume = suspend()  # `eventide run` traces them too: each is recorded once
            self._stop_operators, has_callbacks = _start_callbacks()
            self._devices = Session(Wanted(operators=False)) if has_devices() else None
            mode = self._options.in_detail or not has_callbacks
            self._ops = OpsListener(self._options, mode=mode)
            self._modules = TorchModules(
                self._module(),
                inside=self._options.with_modules,
                stack=self._options.with_stack,
                around=(trace_this_thread, leave_this_thread) if mode else None,
            )
            self._ops.start()
            self._host_on = True

    def toggle(self, on: bool, *, host: bool, devices: bool) -> None:
        """Stop or resume the operators (host), or the session that records devices, between start and pause.

        What is counted (FLOPs, peak memory) goes on; modules have spans in both states.
        """
        ops = self._ops
        if ops is None:
            return
        if host and on != self._host_on:
            self._host_on = on
            if on:
                self._stop_operators, _ = _start_callbacks()
                ops.start()
            else:
                ops.stop()
                self._stop_operators()
        if devices and has_devices():
            if on and self._devices is None:
                self._devices = Session(Wanted(operators=False))
            elif not on and self._devices is not None:
                self._devices.close()
                self._devices = None

    def pause(self) -> dict[str, Any]:
        """Stop tracing, except steps; returns metadata for the trace."""
        summary: dict[str, Any] = {"torch": str(sys.modules["torch"].__version__)}
        ops, self._ops = self._ops, None
        if ops is not None:
            if self._host_on:
                ops.stop()
                self._stop_operators()
            if self._devices is not None:
                self._devices.close()
            self._resume()
            if self._options.with_flops:
                summary |= {"flops": ops.flops, "flops_by_module": ops.flops_by_module}
            if ops.memory is not None:
                summary["peak_memory"] = dict(ops.memory.peak)
        if self._modules is not None:
            self._modules.close()
            self._modules = None
        return summary

    def close(self) -> None:
        """Stop all tracing."""
        self.pause()
        self._steps.close()


def _start_callbacks() -> tuple[Callable[[], None], bool]:
    """Trace operators of all threads with torch's callbacks. False: this torch has none; one thread is traced."""
    try:
        return operators.start_recording(), True
    except Exception as error:  # noqa: BLE001  (another torch)
        _log.debug("torch's operators come from a dispatch mode: %s: %s", type(error).__name__, error)
        return lambda: None, False
