"""Streams and markers of the `opencl` device: an in-order queue with profiling, and `enqueue_marker`."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import pyopencl as cl

from eventide.backends._backend import MarkerState
from eventide.errors import DeviceError

_COMPLETE = cl.command_execution_status.COMPLETE
_END = cl.profiling_info.END
_QUEUED = cl.profiling_info.QUEUED
_PAUSES = (0.0, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6)  # seconds between two polls of a marker; the last one repeats


class Queue:
    """A stream. ``copies`` are events of copies from and to host memory: pyopencl must not drop them while they run."""

    __slots__ = ("context", "copies", "index", "queue", "timers")

    def __init__(self, index: int, queue: cl.CommandQueue, timers: Timers) -> None:
        self.index = index
        self.queue = queue
        self.context: cl.Context = queue.context
        self.timers = timers
        self.copies: list[cl.Event] = []


class Marker:
    """A marker, and readings of the host's clock before and after it."""

    __slots__ = ("copies", "event", "queue")

    def __init__(self, queue: Queue) -> None:
        before = time.monotonic_ns()
        self.event: cl.Event = cl.enqueue_marker(queue.queue)
        queue.timers.observe(before, self.event)
        self.queue = queue
        self.copies, queue.copies = queue.copies, []

    def poll(self) -> MarkerState:
        """Its state, from the driver."""
        status = self.event.command_execution_status
        if status == _COMPLETE:
            return MarkerState.DONE
        return MarkerState.FAILED if status < 0 else MarkerState.PENDING

    def join(self, timeout: float) -> None:
        """Poll it at growing intervals: OpenCL has no wait with a timeout, and the driver's wait ignores Ctrl-C."""
        deadline = time.monotonic() + timeout
        event, pauses = self.event, iter(_PAUSES)
        while event.command_execution_status > _COMPLETE and time.monotonic() < deadline:
            time.sleep(next(pauses, _PAUSES[-1]))

    def completed_at(self) -> int:
        """The profiling clock when the driver passed it."""
        return profiled(self.event, _END)


def profiled(event: cl.Event, what: Any) -> int:
    """A timestamp of a complete event; some drivers report completion before the timestamp is available."""
    for _ in range(1000):
        try:
            if value := int(event.get_profiling_info(what)):
                return value
        except cl.Error as error:
            if error.code != cl.status_code.PROFILING_INFO_NOT_AVAILABLE:
                raise
        time.sleep(100e-6)
    raise DeviceError(f"the OpenCL driver gives no {what} timestamp of a complete marker")


class Timers:
    """Readings of one device's profiling clock between two of the host's, as the clock model needs them."""

    def __init__(self, context: cl.Context, device: cl.Device, host_timer: bool) -> None:
        self._device = device
        self._host_timer = host_timer
        self._resolution = max(1, int(device.profiling_timer_resolution))
        self._queue: cl.CommandQueue | None = None
        self._context = context
        self._seen: deque[tuple[int, cl.Event, int]] = deque(maxlen=32)
        self._has_queued = not host_timer

    def observe(self, before: int, event: cl.Event) -> None:
        """A marker was made: the driver took its timestamp between `before` and now."""
        if self._has_queued:
            self._seen.append((before, event, time.monotonic_ns()))

    def read(self) -> tuple[int, int, int] | None:
        """One reading. Blocks only as long as an idle queue takes, and that only the first few times."""
        if self._host_timer:
            before = time.monotonic_ns()
            there = int(self._device.device_and_host_timer()[0])
            return before - self._resolution, there, time.monotonic_ns()
        return self._passive() if self._seen else self._active()

    def _passive(self) -> tuple[int, int, int] | None:
        """The tightest of the markers seen since the last time; QUEUED is when the driver accepted it."""
        seen = [one for one in list(self._seen) if one[1].command_execution_status == _COMPLETE]
        if not seen:
            return None
        before, event, after = min(seen, key=lambda one: one[2] - one[0])
        queued = int(event.get_profiling_info(_QUEUED))
        if not queued:  # Intel's CPU runtime gives none for markers
            self._has_queued = False
            self._seen.clear()
            return None
        self._seen.clear()
        return before - self._resolution, queued, after

    def _active(self) -> tuple[int, int, int]:
        """A marker in a queue of its own, waited for."""
        if self._queue is None:
            properties = cl.command_queue_properties.PROFILING_ENABLE
            self._queue = cl.CommandQueue(self._context, self._device, properties=properties)
        before = time.monotonic_ns()
        event = cl.enqueue_marker(self._queue)
        taken = time.monotonic_ns()
        event.wait()
        after = time.monotonic_ns()
        if self._has_queued and (queued := int(event.get_profiling_info(_QUEUED))):
            return before - self._resolution, queued, taken
        return before - self._resolution, profiled(event, _END), after
