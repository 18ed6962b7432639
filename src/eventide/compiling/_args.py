"""What start and end callbacks are given."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class CallbackTrigger(enum.Enum):
    """Which compiler ran. The first four have the names and numbers of ``torch._dynamo.callback``."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4
    JAX = 5
    NUMBA = 6
    TRITON = 7
    OPENCL = 8
    OTHER = 9


@dataclass(frozen=True)
class CallbackArgs:
    """One compile: what triggered it, its id, and the name of what is compiled where that is known."""

    callback_trigger: CallbackTrigger
    compile_id: str
    name: str | None = None
