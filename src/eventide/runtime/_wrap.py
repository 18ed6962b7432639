"""The device of an existing stream, for ``Stream.wrap``."""

from __future__ import annotations

import sys
from typing import Any

from eventide.errors import DeviceError, UsageTypeError
from eventide.runtime._device import Device


def device_of(existing: Any) -> tuple[Device, object]:
    """The Device, and the object that its backend adopts."""
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
    """True for instances of that class; never imports the module."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(thing, kind)


def _in(kind: str, existing: Any) -> Device:
    from eventide.backends.registry import BACKENDS

    device = Device(kind)  # which registers it
    return Device(device.type, BACKENDS[kind].index_of(existing))


def _torch_stream(existing: Any) -> Any:
    """A CUDA stream of any framework, as a torch stream: its protocol is (version, address)."""
    answer = existing.__cuda_stream__()
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, int) for part in answer)):
        raise UsageTypeError(
            f"__cuda_stream__ of {type(existing).__name__} must give (version, address), not {answer!r}"
        )
    version, address = answer
    if version != 0:
        raise DeviceError(f"__cuda_stream__ of {type(existing).__name__} has version {version}; only 0 is supported")
    Device("torch:cuda")  # raises if there is none, with the reason
    import torch

    return torch.cuda.ExternalStream(address)  # type: ignore[no-untyped-call, unused-ignore]
