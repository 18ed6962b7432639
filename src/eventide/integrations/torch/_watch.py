"""All that a profile hears from torch, switched on and off together. Imports torch, so it is itself imported on use."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from eventide.integrations.torch import _operators as operators
from eventide.integrations.torch._dispatch import OpsListener, Options, hear_this_thread, leave_this_thread
from eventide.integrations.torch._kineto import Wanted, hears_devices
from eventide.integrations.torch._modules import TorchModules
from eventide.integrations.torch._session import Session, make_way
from eventide.integrations.torch._steps import TorchSteps

_log = logging.getLogger("eventide.profiler")


class TorchWatch:
    """Made and closed on the thread that profiles. `module` is a weak reference, or None."""

    def __init__(self, module: Callable[[], Any] | None, options: Options, reached: Callable[[int], None]) -> None:
        self._module: Callable[[], Any] = module or (lambda: None)
        self._options = options
        self._steps = TorchSteps(reached)
        self._ops: OpsListener | None = None
        self._devices: Session | None = None
        self._come_back: Callable[[], None] = lambda: None
        self._leave: Callable[[], None] = lambda: None
        self._modules: TorchModules | None = None

    def start(self) -> None:
        """Hear operators and modules."""
        if self._ops is None:
            self._come_back = make_way()  # `eventide run` hears them too: each is recorded once
            self._leave, called = _hear()
            self._devices = Session(Wanted(operators=False)) if hears_devices() else None
            mode = self._options.in_detail or not called
            self._ops = OpsListener(self._options, mode=mode)
            self._modules = TorchModules(
                self._module(),
                inside=self._options.with_modules,
                stack=self._options.with_stack,
                around=(hear_this_thread, leave_this_thread) if mode else None,
            )
            self._ops.start()

    def pause(self) -> dict[str, Any]:
        """Hear no more of them, steps apart: what the trace should say about it."""
        told: dict[str, Any] = {"torch": str(sys.modules["torch"].__version__)}
        ops, self._ops = self._ops, None
        if ops is not None:
            ops.stop()
            if self._devices is not None:
                self._devices.close()
            self._leave()
            self._come_back()
            if self._options.with_flops:
                told |= {"flops": ops.flops, "flops_by_module": ops.flops_by_module}
            if ops.memory is not None:
                told["peak_memory"] = dict(ops.memory.peak)
        if self._modules is not None:
            self._modules.close()
            self._modules = None
        return told

    def close(self) -> None:
        """Hear nothing any more."""
        self.pause()
        self._steps.close()


def _hear() -> tuple[Callable[[], None], bool]:
    """Operators of all threads, by torch's callbacks. False: this torch has none, and one thread is heard."""
    try:
        return operators.hear(), True
    except Exception as error:  # noqa: BLE001  (another torch)
        _log.debug("torch's operators come from a dispatch mode: %s: %s", type(error).__name__, error)
        return lambda: None, False
