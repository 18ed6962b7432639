"""The threads of each device type: one polls for callbacks, one closes streams and opens gates."""

import contextlib
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

import eventide as et
from examples.tiny_device import Tiny
from tests.helpers import TIMEOUT, eventually


class Stuck(Tiny):
    """Its poll hangs on the poller thread until it is released"""

    type = "stuck"
    hanging, released = threading.Event(), threading.Event()

    def poll(self, marker):
        if threading.current_thread() is not threading.main_thread():
            self.hanging.set()
            self.released.wait()
        return super().poll(marker)


@pytest.fixture
def stuck():
    """A stream with a callback whose poller thread hangs; at the end it continues and the callback runs."""
    et.Device.register(Stuck)
    stream, called, work = et.Stream("stuck"), threading.Event(), threading.Event()
    stream.submit(work.wait, TIMEOUT)
    stream.record_event().notify(lambda event: called.set())
    assert Stuck.hanging.wait(TIMEOUT)
    yield called
    Stuck.released.set()
    work.set()
    assert called.wait(TIMEOUT)
    stream.close(TIMEOUT)
    et.Device.unregister("stuck")


def test_a_poll_that_hangs_does_not_delay_a_callback_of_another_device(stuck):
    threads, called = [], threading.Event()

    def note(event):
        threads.append(threading.current_thread())
        called.set()

    stream = et.Stream("sim")
    stream.submit(et.work(int, duration=1.0))  # of virtual time, which passes when a thread waits
    stream.record_event().notify(note)
    assert called.wait(TIMEOUT)
    assert threads != [threading.current_thread()], "the callback ran inside notify: nothing was pending"
    assert not stuck.is_set()


class Passing(Tiny):
    """Registered and removed again"""

    type = "passing"
    closed_on: SimpleQueue[str] = SimpleQueue()

    def close_stream(self, steps):
        self.closed_on.put(threading.current_thread().name)
        super().close_stream(steps)


def device_threads():
    found = 0
    for path in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread that ends
            found += path.read_text() in {"eventide-poll\n", "eventide-device\n"}
    return found


def test_the_threads_of_a_device_type_that_is_removed_end():
    before = device_threads()
    for _ in range(3):
        et.Device.register(Passing)
        stream, called, work = et.Stream("passing"), threading.Event(), threading.Event()
        stream.submit(work.wait, TIMEOUT)
        event = stream.record_event()
        event.notify(lambda event, called=called: called.set())
        del stream  # the device closes it once the work is complete
        work.set()
        assert called.wait(TIMEOUT)
        assert Passing.closed_on.get(timeout=TIMEOUT) == "eventide-device"
        et.Device.unregister("passing")
        event.notify(lambda event: None)  # events of it still exist
        del event
    eventually(lambda: device_threads() <= before, "the threads end")
