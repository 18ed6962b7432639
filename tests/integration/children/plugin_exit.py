"""Make the threads of a plug-in busy, and exit: `plugin_exit.py LIBRARY KIND`."""

from __future__ import annotations

import ctypes
import sys
import threading
import time

import eventide as et

FOREVER = 3600.0  # seconds


def python(stream: et.Stream) -> None:
    stream.submit(time.sleep, 0.05)  # acquires the GIL while the interpreter exits
    for _ in range(10):
        stream.submit(time.sleep, FOREVER)


def native(stream: et.Stream) -> None:
    stream.submit_native(ctypes.CDLL(None).usleep, 30_000_000)


def spin(stream: et.Stream) -> None:
    def loop() -> None:
        while True:
            sum(range(100))

    stream.submit(loop)


def waiting(stream: et.Stream) -> None:
    """One stream holds another, on another index."""
    python(stream)
    other = et.Stream(et.Device(stream.device_type, 1))
    other.wait_stream(stream)
    other.submit(print, "never")


def gated(stream: et.Stream) -> None:
    """The plug-in waits at a gate that the cpu never opens, and the other way round."""
    cpu, other = et.Stream("cpu"), et.Stream(stream.device_type)
    cpu.submit(time.sleep, FOREVER)
    stream.wait_stream(cpu)
    stream.submit(print, "never")
    other.submit(time.sleep, FOREVER)
    et.Stream("cpu").wait_stream(other)


def notify(stream: et.Stream) -> None:
    """Callbacks that register the next callback."""
    event = et.Event(stream.device_type)

    def again(event: et.Event) -> None:
        stream.submit(time.sleep, 0.0005)
        event.record(stream)
        event.notify(again)

    again(event)


def many(stream: et.Stream) -> None:
    """Short Python work on many threads, each submitting the next."""
    streams = [et.Stream(et.Device(stream.device_type, number % 2)) for number in range(8)]

    def again(one: et.Stream) -> None:
        one.submit(again, one)

    for one in streams:
        one.submit(again, one)


def blocked(stream: et.Stream) -> None:
    """Threads of the program in every blocking call."""
    future = stream.submit(time.sleep, FOREVER)
    event = stream.record_event()
    for call in (event.synchronize, stream.synchronize, future.result, lambda: et.synchronize(stream.device)):
        threading.Thread(target=call, daemon=True).start()


KINDS = {made.__name__: made for made in (python, native, spin, waiting, gated, notify, many, blocked)}

device = et.Device.load(sys.argv[1])
kept = et.Stream(device)
KINDS[sys.argv[2]](kept)
time.sleep(0.02)  # while all of it runs
sys.stdout.write("leaving\n")
sys.stdout.flush()
