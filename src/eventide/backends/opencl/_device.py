"""The `opencl` device: every OpenCL device of the machine, through pyopencl (``pip install 'pyopencl[pocl]'``).

    _probe   the devices of the machine, probed in a child process     _queue   streams, markers, clocks

An immediate device: a work item is what its function enqueues on ``eventide.current_stream().native``, a
``pyopencl.CommandQueue``. A stream is an in-order queue with profiling, a marker `enqueue_marker`, a wait a barrier
with a wait list, a gate a barrier behind a user event; times are profiling timestamps. No driver callback is used: one
costs 20 us and a thread. Devices of one platform share a context (``Device("opencl:0").native``); waits between
platforms go through the host.
"""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

import pyopencl as cl

from eventide.backends._backend import Capabilities, DeviceBackend
from eventide.backends.opencl._probe import Found, find_devices
from eventide.backends.opencl._queue import Marker, Queue, Timers
from eventide.errors import DeviceError, UsageValueError

# Buffers get addresses outside of those of the host: a cl_mem is a handle, and ranges must not overlap.
_FIRST_ADDRESS = 1 << 60
_PAGE = 4096


class OpenCL(DeviceBackend):
    """OpenCL devices"""

    type = "opencl"

    def __init__(self) -> None:
        found = find_devices()
        self.found = [one for one in found if not one.fault]
        self.faults = {one.name: one.fault for one in found if one.fault}
        if not self.found:
            why = "; ".join(f"{name}: {fault}" for name, fault in self.faults.items())
            raise DeviceError(f"no OpenCL device can be used here: {why or 'no driver (ICD) has any'}")
        platforms = cl.get_platforms()
        self.devices: list[cl.Device] = [platforms[one.platform].get_devices()[one.device] for one in self.found]
        self._contexts: dict[int, cl.Context] = {}  # by platform
        self._timers: dict[int, Timers] = {}
        self._memory: dict[int, cl.Buffer] = {}  # by address
        self._addresses = itertools.count(_FIRST_ADDRESS // _PAGE)
        self._lock = threading.Lock()  # guards the four
        self._process = os.getpid()

    def count(self) -> int:
        """The number of devices that work."""
        return len(self.found)

    def name(self, index: int) -> str:
        """Device, platform and version."""
        return self.found[index].name

    def capabilities(self, index: int) -> Capabilities:
        """The capabilities that the probe found."""
        found: Found = self.found[index]
        return Capabilities(
            deferred=False,
            timing=True,
            join_timeout=False,
            gate=found.user_events,
            copy=True,
            host_visible=False,
            concurrent=found.concurrent,
            priorities=False,
            default_stream_blocks=False,
            heals=True,
            clock=f"OpenCL's ({found.clock})",
        )

    # --- streams and markers

    def context(self, index: int) -> cl.Context:
        """The context that the devices of this one's platform share."""
        if os.getpid() != self._process:
            raise DeviceError("OpenCL drivers do not survive a fork; start the process with 'spawn' instead")
        platform = self.found[index].platform
        with self._lock:
            if platform not in self._contexts:
                mine = [d for d, one in zip(self.devices, self.found, strict=True) if one.platform == platform]
                self._contexts[platform] = cl.Context(mine)
            return self._contexts[platform]

    def timers(self, index: int) -> Timers:
        """The clock of a device."""
        context = self.context(index)
        with self._lock:
            if index not in self._timers:
                self._timers[index] = Timers(context, self.devices[index], self.found[index].host_timer)
            return self._timers[index]

    def open_stream(self, index: int, priority: int) -> Queue:  # noqa: ARG002 - it has none
        """Make a queue."""
        properties = cl.command_queue_properties.PROFILING_ENABLE
        queue = cl.CommandQueue(self.context(index), self.devices[index], properties=properties)
        return Queue(index, queue, self.timers(index))

    def index_of(self, existing: cl.CommandQueue) -> int:
        """Which of our devices a queue belongs to, if it can be a stream."""
        wanted, has = cl.command_queue_properties, existing.properties
        if has & wanted.OUT_OF_ORDER_EXEC_MODE_ENABLE:
            raise UsageValueError(
                "an out-of-order queue cannot be a stream; create it without OUT_OF_ORDER_EXEC_MODE_ENABLE"
            )
        if not has & wanted.PROFILING_ENABLE:
            raise UsageValueError(
                "the queue has no timestamps; create it with properties=cl.command_queue_properties.PROFILING_ENABLE"
            )
        if existing.device not in self.devices:
            devices = ", ".join(f"opencl:{n} {one.name}" for n, one in enumerate(self.found))
            raise UsageValueError(f"the queue is of {existing.device.name}, which is not one of {devices}")
        return self.devices.index(existing.device)

    def adopt_stream(self, index: int, existing: cl.CommandQueue) -> Queue:
        """Adopt an existing queue."""
        return Queue(index, existing, self.timers(index))

    def make_marker(self, stream: Queue, timing: bool) -> Marker:  # noqa: ARG002 - times cost nothing more
        """A marker command."""
        return Marker(stream)

    def wait(self, stream: Queue, marker: Marker) -> Any:
        """A barrier that waits for it; a marker of another context is waited for by the host."""
        if marker.queue is stream:
            return None
        if marker.queue.context != stream.context:
            return NotImplemented
        if marker.event.command_execution_status < 0:
            return None  # it has failed, and so does what follows: the core handles that
        marker.queue.queue.flush()  # else the wait might never end
        cl.enqueue_barrier(stream.queue, wait_for=[marker.event])
        return None

    def flush(self, stream: Queue) -> None:
        """Send queued commands to the device."""
        stream.queue.flush()

    def poll(self, marker: Marker) -> int:
        """Query the driver."""
        return marker.poll()

    def join(self, marker: Marker, timeout: float) -> None:
        """Wait by polling."""
        marker.join(timeout)

    def error(self, marker: Marker) -> BaseException | None:
        """A negative status is an error of the driver."""
        status = marker.event.command_execution_status
        if status >= 0:
            return None
        return DeviceError(f"a command failed on opencl:{marker.queue.index} with status {status}")

    def completed_at(self, marker: Marker) -> int:
        """Its END timestamp."""
        return marker.completed_at()

    def read_clock(self, index: int) -> tuple[int, int, int] | None:
        """The profiling clock between two readings of the host's."""
        return self.timers(index).read()

    def gate(self, stream: Queue) -> cl.UserEvent:
        """A barrier behind an event of the host's."""
        gate = cl.UserEvent(stream.context)
        cl.enqueue_barrier(stream.queue, wait_for=[gate])
        return gate

    def open(self, token: cl.UserEvent) -> None:
        """Complete that event."""
        token.set_status(cl.command_execution_status.COMPLETE)

    # --- memory

    def allocate(self, index: int, nbytes: int) -> int:
        """A cl.Buffer with an address that we assign."""
        most = self.devices[index].max_mem_alloc_size
        if nbytes > most:
            raise DeviceError(f"opencl:{index} allocates {most} bytes at most, not {nbytes}")
        buffer = cl.Buffer(self.context(index), cl.mem_flags.READ_WRITE, nbytes)
        pages = -(-nbytes // _PAGE)
        with self._lock:
            address = next(self._addresses) * _PAGE
            self._addresses = itertools.count(address // _PAGE + pages)
            self._memory[address] = buffer
        return address

    def free(self, index: int, address: int, nbytes: int) -> None:  # noqa: ARG002 - the address is enough
        """Free it."""
        with self._lock:
            del self._memory[address]

    def native_memory(self, index: int, address: int) -> cl.Buffer:  # noqa: ARG002 - likewise
        """The buffer behind an address."""
        return self._memory[address]

    def copy(self, stream: Queue, dst: Any, src: Any) -> None:
        """`enqueue_copy`, which does not block."""
        if isinstance(dst, cl.Buffer) and isinstance(src, cl.Buffer):
            cl.enqueue_copy(stream.queue, dst, src)
            return
        if not isinstance(dst, cl.Buffer) and not isinstance(src, cl.Buffer):  # through the device, in order
            between = cl.Buffer(stream.context, cl.mem_flags.READ_WRITE, src.nbytes)
            stream.copies.append(cl.enqueue_copy(stream.queue, between, src, is_blocking=False))
            src = between
        # Its event keeps the host's memory and blocks when it is dropped: keep it until the copy is complete.
        stream.copies.append(cl.enqueue_copy(stream.queue, dst, src, is_blocking=False))

    # --- for users

    def native(self, stream: Queue) -> cl.CommandQueue:
        """The queue, for work to enqueue on."""
        return stream.queue

    def native_handle(self, stream: Queue) -> int:
        """The cl_command_queue."""
        return int(stream.queue.int_ptr)

    def native_device(self, index: int) -> cl.Context:
        """The context, to build programs in."""
        return self.context(index)
