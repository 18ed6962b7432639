"""Which device a stream of somebody else's belongs to: for ``Stream.wrap``."""

from __future__ import annotations

import sys
from typing import Any

from eventide.errors import DeviceError, UsageTypeError
from eventide.runtime._device import Device


def find_home(existing: Any) -> tuple[Device, object]:
    """The device of ours, and what its backend takes over."""
    if _is(existing, "pyopencl", "CommandQueue"):
        return _in("opencl", existing), existing
    if _is(existing, "torch", "Stream"):
        return _in(f"torch:{existing.device.type}", existing), existing
    if hasattr(existing, "__cuda_stream__"):
        stream = _torch_stream(existing)
        return _in("torch:cuda", stream), stream
    raise UsageTypeError(
        "Stream.wrap takes a pyopencl.CommandQueue, a torch.Stream or something with __cuda_stream__, "
        f"not {type(existing).__name__}"
    )


def _is(thing: object, module: str, name: str) -> bool:
    """Whether it is of that class, without importing what nobody imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(thing, kind)


def _in(kind: str, existing: Any) -> Device:
    from eventide.backends.registry import BACKENDS

    device = Device(kind)  # which registers it
    return Device(device.type, BACKENDS[kind].index_of(existing))


def _torch_stream(existing: Any) -> Any:
    """A CUDA stream of any framework, as torch sees it: its protocol is (version, address)."""
    answer = existing.__cuda_stream__()
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, int) for part in answer)):
        raise UsageTypeError(
            f"__cuda_stream__ of {type(existing).__name__} must give (version, address), not {answer!r}"
        )
    version, address = answer
    if version != 0:
        raise DeviceError(f"__cuda_stream__ of {type(existing).__name__} has version {version}; only 0 is known")
    Device("torch:cuda")  # raises with the reason where there is none
    import torch

    return torch.cuda.ExternalStream(address)  # type: ignore[no-untyped-call, unused-ignore]
