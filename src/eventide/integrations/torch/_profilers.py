"""Notices the program's own torch.profiler: Kineto has one session a process, so ours makes way for it.

All of torch's profilers begin and end by three functions of torch.autograd.profiler; we stand before these. While one
of them runs, spans of ours are told to it as well, through torch's fast record function, and what we told is remembered
so that it is not taken for the program's when its result is imported.
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
from eventide.recording import annotate_spans

_log = logging.getLogger("eventide.integrations")
NAMES = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")
_TOLERANCE = 20_000  # ns: how far Kineto's clock may be behind ours


class Listener(Protocol):
    """Who wants to know; neither method raises."""

    def theirs_begins(self) -> None:
        """A profiler of the program is about to begin."""

    def theirs_ended(self, result: Any) -> None:
        """It ended; the raw result, or None."""


class Annotations:
    """The spans that we told to a profiler of the program."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make
        self._told: dict[tuple[int, str], deque[int]] = defaultdict(deque)  # thread and name -> when, Unix ns

    def __call__(self, name: str) -> Any:
        """A context manager of torch for one span."""
        made = self._make(name)
        if _state.listener is not None:
            self._told[threading.get_native_id(), name].append(time.time_ns())
        return made

    def are_ours(self, thread: int, name: str, start: int) -> bool:
        """Is this event, asked about in the order of time, one that we told?"""
        told = self._told.get((thread, name))
        if not told or start < told[0] - _TOLERANCE:
            return False
        told.popleft()
        return True


class _State:
    """Who guards what: `lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.originals: dict[str, Any] = {}
        self.running: set[int] = set()  # threads whose profiler runs
        self.listener: Listener | None = None
        self.annotations: Annotations | None = None
        self.annotating: Subscription | None = None


_state = _State()


def running() -> bool:
    """True while a profiler of the program runs."""
    return bool(_state.running)


def listen(listener: Listener | None) -> None:
    """Tell this one, and nobody else."""
    _state.listener = listener


def told_spans() -> Annotations | None:
    """What was told to the profiler that ended last."""
    return _state.annotations


def install() -> None:
    """Stand before torch's functions. torch is imported."""
    import torch

    module = torch.autograd.profiler
    with _state.lock:
        if _state.originals:
            return
        missing = [name for name in NAMES if not hasattr(module, name)]
        if missing:
            version = getattr(torch, "__version__", "?")
            _log.warning("torch %s has no %s: its profilers are not noticed", version, ", ".join(missing))
            return
        _state.originals = {name: getattr(module, name) for name in NAMES}
        for name, wrapper in zip(NAMES, (_beginning(NAMES[0]), _beginning(NAMES[1]), _ending), strict=True):
            setattr(module, name, wrapper)


def uninstall() -> None:
    """Torch's functions are its own again."""
    with _state.lock:
        originals, _state.originals = _state.originals, {}
        if originals:
            import torch

            for name, original in originals.items():
                setattr(torch.autograd.profiler, name, original)
        _annotate(on=False)
        _state.running.clear()


def _beginning(name: str) -> Callable[..., Any]:
    original = _state.originals[name]

    def begin(*args: Any, **kwargs: Any) -> Any:
        _begins()
        try:
            return original(*args, **kwargs)
        except BaseException:
            _ends(None)
            raise

    return begin


def _ending(*args: Any, **kwargs: Any) -> Any:
    result = None
    original = _state.originals.get("_disable_profiler") or _torch_s_own()
    try:
        result = original(*args, **kwargs)
        return result
    finally:
        _ends(result)


def _torch_s_own() -> Any:
    """Uninstalled while somebody still held our function."""
    import torch

    return torch.autograd._disable_profiler  # noqa: SLF001 - what we stood before


def _begins() -> None:
    with _state.lock:
        first = not _state.running
        _state.running.add(threading.get_ident())
        if first:
            if _state.listener is not None:
                _state.listener.theirs_begins()
            _annotate(on=True)


def _ends(result: Any) -> None:
    with _state.lock:
        _state.running.discard(threading.get_ident())
        if not _state.running:
            _annotate(on=False)
        if _state.listener is not None:
            _state.listener.theirs_ended(result)


def _after_fork() -> None:
    """In the child there is one thread, and what the others did is the parent's."""
    _state.lock = threading.RLock()
    _state.running &= {threading.get_ident()}


process.after_fork(_after_fork)


def _annotate(*, on: bool) -> None:
    """Spans are told to torch from now on, or no more."""
    if not on:
        if _state.annotating is not None:
            _state.annotating.close()
            _state.annotating = None
        return
    import torch

    make = getattr(torch._C._profiler, "_RecordFunctionFast", None) or torch.autograd.profiler.record_function  # noqa: SLF001
    _state.annotations = Annotations(make)
    _state.annotating = annotate_spans(_state.annotations)
