"""Events."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NoReturn

from eventide import _native
from eventide.errors import UsageTypeError
from eventide.runtime._device import Device, as_device

if TYPE_CHECKING:
    from eventide.runtime._stream import Stream


class Event(_native.EventBase):
    """A reusable name for the latest marker recorded with it.

    Without a device it can be recorded on any device, and reports the current one until then.
    """

    __slots__ = ("__weakref__",)

    def __init__(
        self,
        device: str | Device | None = None,
        enable_timing: bool = False,
        blocking: bool = False,
    ) -> None:
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking)):
            if not isinstance(value, bool):
                raise UsageTypeError(f"{name} must be True or False, not {type(value).__name__}")
        where = None if device is None else as_device(device)
        index = -1 if where is None or where.index is None else where.index
        super().__init__(None if where is None else where.type, index, enable_timing, blocking)

    @property
    def device(self) -> Device:
        """Its device; the index is None until the first record unless it was given."""
        kind, index = self._device
        return Device(as_device(None).type if kind is None else kind, index)

    def reset(self, stream: Stream | None = None, enable_timing: bool = False) -> None:
        """Make it a new event with the same id: never recorded, with this timing, and this stream as its default.

        What waits for its last record continues to do so. `event_deletion` fires if it was recorded.
        """
        if stream is not None and not isinstance(stream, _native.StreamBase):
            raise UsageTypeError(f"reset needs a Stream or None, not {type(stream).__name__}")
        if not isinstance(enable_timing, bool):
            raise UsageTypeError(f"enable_timing must be True or False, not {type(enable_timing).__name__}")
        self._reset(enable_timing, stream)

    def wait_for_cpu_sync(self, timeout: float | None = None) -> None:
        """As synchronize; the name that torch's MPS events have for it. Does nothing if it was never recorded."""
        self.synchronize(timeout)

    def __await__(self) -> Generator[Any, None, None]:
        from eventide.runtime._wait import wait_for  # imports asyncio, which `import eventide` does not need

        return wait_for(self._ticket())

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Event cannot be pickled: its marker exists in this process only")

    def __repr__(self) -> str:
        kind, index = self._device
        where = "any device" if kind is None else kind if index is None else f"{kind}:{index}"
        state = (
            "never recorded" if not self.version else f"version {self.version}, {'done' if self.query() else 'pending'}"
        )
        return f"<Event {self._id} on {where}, {state}>"
