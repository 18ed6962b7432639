"""Detects profilers of the program: Kineto has one session a process, so ours is suspended for it.

All of torch's profilers start and stop with three functions of torch.autograd.profiler, which are wrapped. While one
runs, our spans are reported to it as well, through torch's fast record function, and noted, so that they are not
recorded a second time when its result is imported.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, Protocol

from eventide._util import process
from eventide._util.subscription import Subscription
from eventide.integrations._patch import Installation
from eventide.recording import annotate_spans

_log = logging.getLogger("eventide.integrations")
NAMES = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")
_TOLERANCE = 20_000  # ns: how far Kineto's clock may be behind ours


class Listener(Protocol):
    """Is called for profilers of the program; neither method raises."""

    def profiler_starts(self) -> None:
        """A profiler of the program is about to start."""

    def profiler_stopped(self, result: Any) -> None:
        """It has stopped; the raw result, or None."""


class Annotations:
    """Our spans that were reported to a profiler of the program."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make
        self._reported: dict[tuple[int, str], deque[int]] = defaultdict(deque)  # thread and name -> when, Unix ns

    def __call__(self, name: str) -> Any:
        """A context manager of torch for one span."""
        made = self._make(name)
        if _state.listener is not None:
            self._reported[threading.get_native_id(), name].append(time.time_ns())
        return made

    def are_ours(self, thread: int, name: str, start: int) -> bool:
        """Is this event one of our spans? Called in the order of time."""
        reported = self._reported.get((thread, name))
        if not reported or start < reported[0] - _TOLERANCE:
            return False
        reported.popleft()
        return True


class _State:
    """`lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.running: set[int] = set()  # threads with a running profiler
        self.listener: Listener | None = None
        self.annotations: Annotations | None = None
        self.annotating: Subscription | None = None


_state = _State()
_installation = Installation()


def running() -> bool:
    """True while a profiler of the program runs."""
    return bool(_state.running)


def listen(listener: Listener | None) -> None:
    """Call this listener, instead of the previous one."""
    _state.listener = listener


def reported_spans() -> Annotations | None:
    """The spans that were reported to the profiler that ran last."""
    return _state.annotations


def install() -> None:
    """Wrap torch's functions; idempotent. torch is imported."""
    try:
        import torch
        from torch.autograd import profiler
    except ImportError:
        return  # this torch has no profilers
    missing = [name for name in NAMES if not hasattr(profiler, name)]
    if missing:
        _log.warning("torch %s has no %s: its profilers are not detected", torch.__version__, ", ".join(missing))
        return
    _installation.install(_apply, "torch.autograd.profiler")


def uninstall() -> None:
    """Restore torch's functions."""
    _installation.uninstall()
    with _state.lock:
        _annotate(on=False)
        _state.running.clear()


def _apply(module: Any) -> None:
    prepare, enable, disable = NAMES
    _installation.wrap(module, prepare, _starting)
    _installation.wrap(module, enable, _starting)
    _installation.wrap(module, disable, _stopping)


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(*args: Any, **kwargs: Any) -> Any:
        _starts()
        try:
            return original(*args, **kwargs)
        except BaseException:
            _stopped(None)
            raise

    return start


def _stopping(original: Callable[..., Any]) -> Callable[..., Any]:
    def stop(*args: Any, **kwargs: Any) -> Any:
        result = None
        try:
            result = original(*args, **kwargs)
            return result
        finally:
            _stopped(result)

    return stop


def _starts() -> None:
    with _state.lock:
        first = not _state.running
        _state.running.add(threading.get_ident())
        if first:
            if _state.listener is not None:
                _state.listener.profiler_starts()
            _annotate(on=True)


def _stopped(result: Any) -> None:
    with _state.lock:
        _state.running.discard(threading.get_ident())
        if not _state.running:
            _annotate(on=False)
        if _state.listener is not None:
            _state.listener.profiler_stopped(result)


def _after_fork() -> None:
    """The child has one thread; the profilers of the others belong to the parent."""
    _state.lock = threading.RLock()
    _state.running &= {threading.get_ident()}


process.after_fork(_after_fork)


def _annotate(*, on: bool) -> None:
    """Report our spans to torch, or stop it."""
    if not on:
        if _state.annotating is not None:
            _state.annotating.close()
            _state.annotating = None
        return
    import torch

    make = getattr(torch._C._profiler, "_RecordFunctionFast", None) or torch.autograd.profiler.record_function  # noqa: SLF001
    _state.annotations = Annotations(make)
    _state.annotating = annotate_spans(_state.annotations)
