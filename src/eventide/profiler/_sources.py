"""What a profile listens to besides the recorder: torch, compilers, one object's calls, the kernel's counters."""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from eventide._util.on_import import ImportHook, when_imported
from eventide.errors import UsageTypeError
from eventide.integrations import Adapters, install_when_imported
from eventide.profiler._arguments import Options
from eventide.profiler._objects import CallWatch, check_object
from eventide.profiler._perf import PerfCounters

_log = logging.getLogger("eventide.profiler")


class Sources:
    """Opened and closed with the profile; resumed and paused with each cycle."""

    def __init__(self, options: Options, reached: Callable[[int], None]) -> None:
        module = options.module
        self._options = options.without_module()
        self._reached = reached
        self._is_torch = is_torch_module(module)
        if module is not None and not self._is_torch:
            check_object(module)
        try:
            self._module = weakref.ref(module) if module is not None else None
        except TypeError:
            raise UsageTypeError(f"a {type(module).__name__} cannot be held weakly, so it cannot be profiled") from None
        self._thread = 0
        self._torch: Any = None
        self._hook: ImportHook | None = None
        self._adapters: Adapters | None = None
        self._object: CallWatch | None = None
        self._counters: PerfCounters | None = None
        self._warnings: list[str] = []
        self._going = False

    def open(self) -> None:
        """The profile starts. torch is heard if it is there, or once it is imported."""
        self._thread = threading.get_ident()
        self._adapters = install_when_imported()
        self._hook = when_imported("torch", self._open_torch)
        if self._options.perf_counters:
            self._counters = PerfCounters(self._options.perf_counters)
            self._warnings += self._counters.warnings

    def _open_torch(self) -> None:
        if threading.get_ident() != self._thread or self._torch is not None:
            return  # imported by another thread: its operators would be that thread's
        try:
            from eventide.integrations.torch import TorchWatch

            self._torch = TorchWatch(self._module if self._is_torch else None, self._options, self._reached)
            if self._going:
                self._torch.start()
        except Exception as error:  # noqa: BLE001  (another version of torch: the rest is heard)
            version = getattr(sys.modules.get("torch"), "__version__", "?")
            line = f"torch {version} is not heard: {type(error).__name__}: {error}"
            self._warnings.append(line)
            _log.warning("%s", line)

    def resume(self) -> None:
        """A cycle begins."""
        self._going = True
        watched = self._module() if self._module is not None else None
        if watched is not None and not self._is_torch:
            self._object = CallWatch(watched)
        if self._torch is not None:
            self._torch.start()

    def pause(self) -> dict[str, Any]:
        """A cycle ends: what the trace should say about it."""
        self._going = False
        told: dict[str, Any] = {"warnings": list(self._warnings)}
        if self._object is not None:
            self._object.close()
            self._object = None
        if self._torch is not None:
            told |= self._torch.pause()
        if self._counters is not None:
            told["perf_counters"] = self._counters.told()
        return told

    def mark(self) -> None:
        """A step begins or ends: the kernel's counters are read."""
        if self._counters is not None:
            self._counters.mark()

    def close(self) -> None:
        """The profile is over."""
        for part in (self._hook, self._object, self._torch, self._adapters, self._counters):
            if part is not None:
                part.close()
        self._hook = self._object = self._torch = self._adapters = self._counters = None


def is_torch_module(module: Any) -> bool:
    """Without importing torch: whoever has a module has imported it."""
    torch = sys.modules.get("torch")
    kind = getattr(getattr(torch, "nn", None), "Module", None)
    return kind is not None and isinstance(module, kind)
