"""torch's operators become spans while they run, on all threads: its callbacks call our core. Imports torch on use.

Whoever wants them calls hear(); a thread whose operators are told by other means mutes itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util import process
from eventide.errors import DeviceError

_BACKWARD, _ANNOTATED = "BACKWARD_FUNCTION", "USER_SCOPE"
_BUILD = ("KERNEL_FUNCTION_DTYPE", "BUILD_FEATURE")  # which parts of torch a program needs: nothing that runs


TESTED = ("2.13",)
"""The versions of torch whose callbacks were tried. They are called by C++ names, with a structure of torch's headers
by value: another version may have laid it out differently."""


def check_version(version: str) -> None:
    """Raise DeviceError unless the callbacks of that torch were tried."""
    if ".".join(version.split(".")[:2]) not in TESTED:
        raise DeviceError(f"callbacks of torch {version} were not tried, only those of torch {', '.join(TESTED)}")


class _Callbacks:
    """On from start() to stop(), any number of times. Raises where this torch cannot be heard like that."""

    def __init__(self) -> None:
        import torch

        check_version(torch.__version__)
        scopes: dict[str, Any] = dict(torch._C._profiler.RecordScope.__members__)  # noqa: SLF001 - has no public name
        bits = {name: 1 << int(scope) for name, scope in scopes.items() if name not in _BUILD}
        self._gradients, self._annotations = bits.pop(_BACKWARD), bits.pop(_ANNOTATED)
        self._operators = sum(bits.values())
        self.tied = self._learn()  # gradients, to the operators they belong to

    def start(self) -> None:
        """Hear them."""
        _native.torch_operators_start(self._operators, self._gradients, self._annotations)

    def stop(self) -> None:
        """Hear them no more."""
        _native.torch_operators_stop()

    def _learn(self) -> bool:
        """Two operators and a gradient whose sequence numbers are known show where such a number is."""
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
        self.wanted = 0  # by so many


_state = _State()


def _after_fork() -> None:
    _state.lock = threading.RLock()  # whoever held it is not here


process.after_fork(_after_fork)


def _callbacks() -> _Callbacks:
    with _state.lock:
        if _state.callbacks is None:
            _state.callbacks = _Callbacks()
        return _state.callbacks


def prepare() -> bool:
    """Raise where this torch cannot be heard like that. False: gradients are not tied to their operators."""
    return _callbacks().tied


def hear() -> Callable[[], None]:
    """Operators of all threads that are not muted go into the recording that runs, until the result is called."""
    callbacks = _callbacks()
    with _state.lock:
        callbacks.start()
        _state.wanted += 1
    over = False

    def leave() -> None:
        nonlocal over
        with _state.lock:
            if over:
                return
            over = True
            _state.wanted -= 1
            if not _state.wanted:
                callbacks.stop()

    return leave
