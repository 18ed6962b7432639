"""The `torch` device: any accelerator of torch, as 'torch:cuda' or 'torch:xpu', through torch.Stream and torch.Event.

    _clock   when an event passed, from elapsed_time to an anchor that is recorded again every second

An immediate device: work runs inside submit with its torch stream current, so it calls torch as usual. A marker is a
``torch.Event``, a wait ``Stream.wait_event``; torch has no wait with a limit, so joining polls. torch hands out streams
of a pool (32 for CUDA): two Eventide streams that share one are still ordered, but wait for each other. Tested on a
stand-in for the API only, never on a GPU.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from eventide.backends._backend import Capabilities, DeviceBackend, MarkerState
from eventide.backends.torch._clock import AnchoredClock
from eventide.errors import DeviceError, UsageValueError

_PAUSES = (0.0, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6)  # seconds between two polls of a marker; the last one repeats


class TorchStreams(DeviceBackend):
    """Streams and events of an accelerator; memory stays with torch."""

    def __init__(self, accelerator: str) -> None:
        self.accelerator = accelerator
        self.type = f"torch:{accelerator}"  # type: ignore[misc]  # one class for all accelerators
        self._count = _device_count(accelerator)
        if not self._count:
            raise DeviceError(f"torch {torch.__version__} has no accelerator {accelerator!r} here")
        self._clocks = [AnchoredClock(self.device(index)) for index in range(self._count)]

    def device(self, index: int) -> torch.device:
        """The torch.device."""
        return torch.device(self.accelerator, index)

    def count(self) -> int:
        """The number that torch reports."""
        return self._count

    def name(self, index: int) -> str:
        """The name of the device, if torch has one."""
        module = getattr(torch, self.accelerator, None)
        try:
            return f"{module.get_device_name(index)}, torch {torch.__version__}"  # type: ignore[union-attr]
        except Exception:  # noqa: BLE001 - not every accelerator's module has it
            return f"{self.device(index)} of torch {torch.__version__}"

    def capabilities(self, index: int) -> Capabilities:  # noqa: ARG002 - all alike
        """The capabilities of torch.Stream and torch.Event."""
        return Capabilities(
            deferred=False,
            timing=True,
            join_timeout=False,
            gate=False,
            copy=False,
            host_visible=False,
            concurrent=True,
            priorities=self.accelerator in ("cuda", "xpu"),
            default_stream_blocks=False,
            heals=self.accelerator != "cuda",  # an error of a CUDA device is permanent
            clock=f"events of torch:{self.accelerator}",
        )

    def priority_range(self, index: int) -> tuple[int, int] | None:  # noqa: ARG002 - all alike
        """That of the accelerator's streams, if torch reports one; torch itself changes other priorities silently."""
        stream = getattr(getattr(torch, self.accelerator, None), "Stream", None)
        reported = getattr(stream, "priority_range", None)
        return tuple(reported()) if callable(reported) else None

    # --- streams and markers

    def open_stream(self, index: int, priority: int) -> torch.Stream:
        """A stream of torch's pool."""
        return torch.Stream(device=self.device(index), priority=priority)

    def index_of(self, existing: torch.Stream) -> int:
        """Which of its devices a stream belongs to."""
        if existing.device.type != self.accelerator:
            raise UsageValueError(f"{existing} is not of {self.type}")
        return int(existing.device.index or 0)

    def adopt_stream(self, index: int, existing: torch.Stream) -> torch.Stream:  # noqa: ARG002 - the stream has it
        """Adopt an existing stream."""
        return existing

    def submit(self, stream: torch.Stream, work: Any) -> None:
        """Run the work with the stream current in torch as well."""
        with stream:
            work.run()

    def make_marker(self, stream: torch.Stream, timing: bool) -> torch.Event:
        """An event, recorded once."""
        event = torch.Event(device=stream.device, enable_timing=timing)
        event.record(stream)
        return event

    def wait(self, stream: torch.Stream, marker: torch.Event) -> None:
        """Torch's own wait."""
        stream.wait_event(marker)

    def poll(self, marker: torch.Event) -> int:
        """Query torch; an error on the device is raised there."""
        return MarkerState.DONE if marker.query() else MarkerState.PENDING

    def join(self, marker: torch.Event, timeout: float) -> None:
        """Poll it at growing intervals: torch's wait has no timeout, and ignores Ctrl-C."""
        deadline, pauses = time.monotonic() + timeout, iter(_PAUSES)
        while not marker.query() and time.monotonic() < deadline:
            time.sleep(next(pauses, _PAUSES[-1]))

    def completed_at(self, marker: torch.Event) -> int:
        """On the clock of the anchors."""
        return self._clocks[marker.device.index or 0].time_of(marker)

    def read_clock(self, index: int) -> tuple[int, int, int] | None:
        """Record a new anchor, or query the pending one."""
        return self._clocks[index].read()

    def native_handle(self, stream: torch.Stream) -> int:
        """The driver's handle, where torch gives it."""
        try:
            return int(stream.native_handle)
        except (AttributeError, RuntimeError):
            return int(stream.stream_id)

    def native_device(self, index: int) -> torch.device:
        """The torch.device."""
        return self.device(index)


class Torch(TorchStreams):
    """The same with torch's memory: a Buffer is a tensor of bytes."""

    def __init__(self, accelerator: str) -> None:
        super().__init__(accelerator)
        self._memory: dict[int, torch.Tensor] = {}

    def capabilities(self, index: int) -> Capabilities:
        """With copies."""
        import dataclasses

        return dataclasses.replace(super().capabilities(index), copy=True)

    def allocate(self, index: int, nbytes: int) -> int:
        """A tensor of bytes of torch's allocator."""
        tensor = torch.empty(nbytes, dtype=torch.uint8, device=self.device(index))
        self._memory[tensor.data_ptr()] = tensor
        return int(tensor.data_ptr())

    def free(self, index: int, address: int, nbytes: int) -> None:  # noqa: ARG002 - the address is enough
        """Return it to the allocator."""
        del self._memory[address]

    def native_memory(self, index: int, address: int) -> torch.Tensor:  # noqa: ARG002 - likewise
        """The tensor."""
        return self._memory[address]

    def copy(self, stream: torch.Stream, dst: Any, src: Any) -> None:
        """`copy_` without blocking; where the host's memory is not pinned, torch may still block."""
        to = dst if isinstance(dst, torch.Tensor) else torch.frombuffer(dst, dtype=torch.uint8)
        source = src if isinstance(src, torch.Tensor) else torch.frombuffer(bytearray(src), dtype=torch.uint8)
        with stream:
            to.copy_(source[: to.numel()], non_blocking=True)


def _device_count(accelerator: str) -> int:
    """The number of devices; 0 if torch does not support the type."""
    current = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if current is not None and current.type == accelerator:
        return int(torch.accelerator.device_count())
    module = getattr(torch, accelerator, None)
    if module is None or not getattr(module, "is_available", lambda: False)():
        return 0
    return int(module.device_count())
