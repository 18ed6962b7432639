"""A device in fifty lines of Python: each stream is a thread and a queue, a marker is a flag and a time.

Streams, events, futures, pools, hooks and asyncio then work on it, and the conformance kit says whether it behaves:
`eventide conformance --device tiny --import examples/tiny_device.py`, or run this file.
"""

import threading
import time
from queue import SimpleQueue

import eventide as et
from eventide.backends import DeviceBackend, MarkerState


class Marker:
    """A point in a stream: passed once, at a time."""

    def __init__(self):
        self.passed = threading.Event()
        self.time = 0

    def set(self):
        self.time = time.monotonic_ns()
        self.passed.set()


class Tiny(DeviceBackend):
    """A thread for each stream"""

    type = "tiny"

    def count(self):
        return 2

    def capabilities(self, index):
        yes = ("deferred", "timing", "join_timeout", "gate", "copy", "host_visible", "concurrent", "heals")
        no = ("priorities", "default_stream_blocks")
        return et.Capabilities(**dict.fromkeys(yes, True), **dict.fromkeys(no, False), clock="CLOCK_MONOTONIC")

    def open_stream(self, index, priority):
        steps = SimpleQueue()  # of things to call, one after the other
        threading.Thread(target=self.work_off, args=[steps], daemon=True).start()
        return steps

    def work_off(self, steps):
        for step in iter(steps.get, None):
            step()

    def close_stream(self, steps):
        steps.put(None)

    def submit(self, steps, work):
        steps.put(work.run)

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


et.Device.register(Tiny)

if __name__ == "__main__":
    from eventide.testing import conformance

    report = conformance.run("tiny")
    print(*report.failed, report.row(), sep="\n")
