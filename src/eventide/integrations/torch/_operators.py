"""torch's operators become spans while they run, on all threads: its callbacks call our core. Imports torch on use.

start_recording() turns them on; a thread whose operators are recorded by other means mutes itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util import process
from eventide.errors import DeviceError

_BACKWARD, _ANNOTATED = "BACKWARD_FUNCTION", "USER_SCOPE"
_BUILD = ("KERNEL_FUNCTION_DTYPE", "BUILD_FEATURE")  # build features of torch, not operators


TESTED = ("2.13",)
"""The versions of torch whose callbacks were tested. They are called by C++ names, with a structure of torch's headers
by value: another version may have another layout."""


def check_version(version: str) -> None:
    """Raise DeviceError unless the callbacks of that torch were tested."""
    if ".".join(version.split(".")[:2]) not in TESTED:
        raise DeviceError(f"callbacks of torch {version} were not tested, only those of torch {', '.join(TESTED)}")


class _Callbacks:
    """On from start() to stop(), any number of times. Raises if this torch has no usable callbacks."""

    def __init__(self) -> None:
        import torch

        check_version(torch.__version__)
        scopes: dict[str, Any] = dict(torch._C._profiler.RecordScope.__members__)  # noqa: SLF001 - has no public name
        bits = {name: 1 << int(scope) for name, scope in scopes.items() if name not in _BUILD}
        self._gradients, self._annotations = bits.pop(_BACKWARD), bits.pop(_ANNOTATED)
        self._operators = sum(bits.values())
        self.has_gradient_edges = self._calibrate()  # from operators to their gradients

    def start(self) -> None:
        """Record operators."""
        _native.torch_operators_start(self._operators, self._gradients, self._annotations)

    def stop(self) -> None:
        """Record no more."""
        _native.torch_operators_stop()

    def _calibrate(self) -> bool:
        """Find the sequence number in torch's record, from two operators and a gradient whose numbers are known."""
        import torch

        with torch.inference_mode(False), torch.enable_grad():
            some = torch.zeros((), device="cpu", requires_grad=True)
            numbers: list[int] = []
            self.start()
            try:
                for which in range(3):
                    numbers.append(torch.autograd._get_sequence_nr())  # noqa: SLF001 - has no public name
                    _native.torch_operators_probe(which)
                    made = torch.neg(some)
                    if which == 2:
                        torch.autograd.grad(made, some)
                    if not _native.torch_operators_probed():
                        raise DeviceError(f"torch {torch.__version__} did not call back")
            finally:
                self.stop()
        return _native.torch_operators_calibrate(*numbers)


class _State:
    """`lock` guards the others."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.callbacks: _Callbacks | None = None
        self.users = 0


_state = _State()


def _after_fork() -> None:
    _state.lock = threading.RLock()  # its owner may be a thread of the parent


process.after_fork(_after_fork)


def _callbacks() -> _Callbacks:
    with _state.lock:
        if _state.callbacks is None:
            _state.callbacks = _Callbacks()
        return _state.callbacks


def prepare() -> bool:
    """Raise if this torch has no usable callbacks. False: there are no edges from operators to gradients."""
    return _callbacks().has_gradient_edges


def start_recording() -> Callable[[], None]:
    """Record operators of all threads that are not muted, until the returned function is called."""
    callbacks = _callbacks()
    with _state.lock:
        callbacks.start()
        _state.users += 1
    stopped = False

    def stop() -> None:
        nonlocal stopped
        with _state.lock:
            if stopped:
                return
            stopped = True
            _state.users -= 1
            if not _state.users:
                callbacks.stop()

    return stop
