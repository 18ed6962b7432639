"""A tiny immediate device: a stream is a thread and a queue of steps, and work is what a function enqueues there.

It works as `opencl` and `torch` do, without a driver: ``submit`` runs the function at once, and the function calls
``et.current_stream().native.put(step)``. Its clock is not the host's: 1,000 s ahead and 50 ppm fast.
"""

import threading
import time
from queue import SimpleQueue

import eventide as et
from eventide.backends import DeviceBackend, MarkerState

OFFSET_NS = 1_000_000_000_000
DRIFT = 50e-6
BEGAN = time.monotonic_ns()


def clock_ns(host_ns: int | None = None) -> int:
    """What the device's clock shows, now or at a time of the host's."""
    host = time.monotonic_ns() if host_ns is None else host_ns
    return host + OFFSET_NS + int((host - BEGAN) * DRIFT)


class Marker:
    """A point in a stream: passed once, at a time."""

    def __init__(self):
        self.passed = threading.Event()
        self.time = 0

    def set(self):
        self.time = clock_ns()
        self.passed.set()


class Steps(SimpleQueue):
    """A stream: functions to call, one after the other, on a separate thread."""

    def __init__(self):
        threading.Thread(target=self.work_off, daemon=True).start()

    def work_off(self):
        for step in iter(self.get, None):
            step()


class Prompt(DeviceBackend):
    """Runs functions inside submit, and what they enqueue on a thread for each stream"""

    type = "prompt"

    def __init__(self):
        self.memory = {}  # address -> bytearray

    def count(self):
        return 2

    def capabilities(self, index):
        yes = ("timing", "join_timeout", "gate", "copy", "concurrent", "heals")
        no = ("deferred", "host_visible", "priorities", "default_stream_blocks")
        return et.Capabilities(**dict.fromkeys(yes, True), **dict.fromkeys(no, False), clock="prompt")

    def open_stream(self, index, priority):
        return Steps()

    def adopt_stream(self, index, existing):
        return existing

    def close_stream(self, steps):
        steps.put(None)

    def make_marker(self, steps, timing):
        marker = Marker()
        steps.put(marker.set)
        return marker

    def wait(self, steps, marker):
        steps.put(marker.passed.wait)

    def poll(self, marker):
        return MarkerState.DONE if marker.passed.is_set() else MarkerState.PENDING

    def join(self, marker, timeout):
        marker.passed.wait(timeout)

    def completed_at(self, marker):
        return marker.time

    def gate(self, steps):
        token = threading.Event()
        steps.put(token.wait)
        return token

    def open(self, token):
        token.set()

    def now(self, index):
        return clock_ns()

    def allocate(self, index, nbytes):
        block = bytearray(nbytes)
        address = et._native.buffer_address(block)
        self.memory[address] = block
        return address

    def free(self, index, address, nbytes):
        del self.memory[address]

    def native_memory(self, index, address):
        return self.memory[address]

    def copy(self, steps, dst, src):
        size = memoryview(src).nbytes
        steps.put(lambda: memoryview(dst)[:size].__setitem__(slice(None), memoryview(src)[:size]))


et.Device.register(Prompt)
