"""torch's operators become spans while they run, on all threads: its callbacks call our core. Imports torch on use."""

from __future__ import annotations

from typing import Any

from eventide import _native

_BACKWARD, _ANNOTATED = "BACKWARD_FUNCTION", "USER_SCOPE"
_BUILD = ("KERNEL_FUNCTION_DTYPE", "BUILD_FEATURE")  # which parts of torch a program needs: nothing that runs


class Operators:
    """On from start() to stop(), any number of times. Raises where this torch cannot be heard like that."""

    def __init__(self) -> None:
        import torch

        scopes: dict[str, Any] = dict(torch._C._profiler.RecordScope.__members__)  # noqa: SLF001 - has no public name
        bits = {name: 1 << int(scope) for name, scope in scopes.items() if name not in _BUILD}
        self._gradients, self._annotations = bits.pop(_BACKWARD), bits.pop(_ANNOTATED)
        self._operators = sum(bits.values())
        self._before = _native.torch_operators_heard()
        self.tied = self._learn()  # gradients, to the operators they belong to

    def start(self) -> None:
        """Hear them."""
        _native.torch_operators_start(self._operators, self._gradients, self._annotations)

    def stop(self) -> None:
        """Hear them no more."""
        _native.torch_operators_stop()

    @property
    def heard(self) -> int:
        """So many were, since this was made."""
        return _native.torch_operators_heard() - self._before

    def _learn(self) -> bool:
        """Two operators whose sequence numbers are known show where such a number stands."""
        import torch

        with torch.inference_mode(False), torch.enable_grad():
            some = torch.zeros((), device="cpu", requires_grad=True)
            numbers = []
            self.start()
            try:
                for which in range(2):
                    numbers.append(torch.autograd._get_sequence_nr())  # noqa: SLF001 - has no public name
                    _native.torch_operators_look(which)
                    torch.neg(some)
            finally:
                self.stop()
        return _native.torch_operators_learn(*numbers)
