"""What a profile traces besides the recorder: torch, compilers, one object's calls, the kernel's counters."""

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
from eventide.profiler._options import Options
from eventide.profiler._perf import PerfCounters
from eventide.recording import span

_lock = threading.Lock()  # guards the two below
_watched: dict[type, list[weakref.ref[Any]]] = {}
_MISSING = object()


class CallWatch:
    """The calls of one object are spans, until closed."""

    def __init__(self, watched: Any) -> None:
        check_object(watched)
        self._kind = type(watched)
        self._ref = weakref.ref(watched)
        with _lock:
            first = self._kind not in _watched
            _watched.setdefault(self._kind, []).append(self._ref)
            if first:
                _patch(self._kind)

    def close(self) -> None:
        """Watch no more."""
        with _lock:
            kept = [ref for ref in _watched.get(self._kind, []) if ref is not self._ref]
            if kept:
                _watched[self._kind] = kept
            elif _watched.pop(self._kind, None) is not None:
                _restore(self._kind)


def check_object(watched: Any) -> None:
    """Refuse what cannot be watched, with the remedy."""
    kind = type(watched)
    if not callable(watched):
        raise UsageTypeError(f"module must be something that is called, or None, not {kind.__name__}")
    if isinstance(watched, type) or not kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: a class written in Python
        raise UsageTypeError(
            f"the calls of a {kind.__name__} cannot be watched from outside; decorate it with @et.span instead"
        )


def _patch(kind: type) -> None:
    own = kind.__dict__.get("__call__", _MISSING)
    original = kind.__call__
    traced = span(kind.__name__)(original)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  (it is one)
        known = any(ref() is self for ref in _watched.get(kind, ()))
        return (traced if known else original)(self, *args, **kwargs)

    __call__._eventide_own = own  # type: ignore[attr-defined]  # noqa: SLF001  (to put back)
    kind.__call__ = __call__  # type: ignore[method-assign]  # what we are here for


def _restore(kind: type) -> None:
    own = getattr(kind.__dict__.get("__call__"), "_eventide_own", None)
    if own is _MISSING:
        del kind.__call__
    elif own is not None:
        kind.__call__ = own  # type: ignore[method-assign]  # as above


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
        """The profile starts. torch is traced if it is imported, or once it is."""
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
        except Exception as error:  # noqa: BLE001  (another version of torch: the rest is traced)
            version = getattr(sys.modules.get("torch"), "__version__", "?")
            line = f"torch {version} is not traced: {type(error).__name__}: {error}"
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
        found: dict[str, Any] = {"warnings": list(self._warnings)}
        if self._object is not None:
            self._object.close()
            self._object = None
        if self._torch is not None:
            found |= self._torch.pause()
        if self._counters is not None:
            found["perf_counters"] = self._counters.totals()
        return found

    def toggle(self, on: bool, *, host: bool, devices: bool) -> None:
        """Stop or resume the operators of torch, or its devices, inside a cycle."""
        if self._torch is not None and self._going:
            self._torch.toggle(on, host=host, devices=devices)

    def mark(self) -> None:
        """A step begins or ends: the kernel's counters are read."""
        if self._counters is not None:
            self._counters.mark()

    def close(self) -> None:
        """The profile has ended."""
        for part in (self._hook, self._object, self._torch, self._adapters, self._counters):
            if part is not None:
                part.close()
        self._hook = self._object = self._torch = self._adapters = self._counters = None


def is_torch_module(module: Any) -> bool:
    """Without importing torch: a module exists only after the import."""
    torch = sys.modules.get("torch")
    kind = getattr(getattr(torch, "nn", None), "Module", None)
    return kind is not None and isinstance(module, kind)
