"""Make streams busy in ways drawn from a seed, and exit at a time drawn from it: `exit_at_random.py SEED HOW`.

HOW is `end` (fall off the end), `exit` (sys.exit(7)) or `raise` (an unhandled error).
"""

from __future__ import annotations

import asyncio
import ctypes
import random
import sys
import threading
import time

import eventide as et

FOREVER = 3600.0  # seconds


def python_loop(stream: et.Stream) -> None:
    """Work that never releases the GIL by itself."""

    def spin() -> None:
        while True:
            sum(range(100))

    stream.submit(spin)


def python_sleep(stream: et.Stream) -> None:
    """Work that acquires the GIL after the interpreter has exited."""
    stream.submit(time.sleep, random.random() * 0.3)
    stream.submit(time.sleep, FOREVER)


def many_small(stream: et.Stream) -> None:
    for number in range(3000):
        stream.submit(sum, range(number % 50))


def endless_chain(stream: et.Stream) -> None:
    """Work that submits the next."""

    def again() -> None:
        stream.submit(again)

    stream.submit(again)


def native_sleep(stream: et.Stream) -> None:
    usleep = ctypes.CDLL(None).usleep
    for microseconds in (100, 200_000, 30_000_000):
        stream.submit_native(usleep, microseconds)


def notifications(stream: et.Stream) -> None:
    """Callbacks that record and register the next callback."""
    event = et.Event("cpu")

    def again(event: et.Event) -> None:
        stream.submit(time.sleep, 0.0005)
        event.record(stream)
        event.notify(again)

    stream.submit(time.sleep, 0.0005)
    event.record(stream)
    event.notify(again)
    stream.submit(int).add_done_callback(lambda future: time.sleep(0.01))


def blocked_threads(stream: et.Stream) -> None:
    """Daemon threads in every blocking call."""
    future = stream.submit(time.sleep, FOREVER)
    event = stream.record_event()
    calls = (event.synchronize, stream.synchronize, future.result, lambda: et.synchronize("cpu"), stream.close)
    for call in calls:
        threading.Thread(target=call, daemon=True).start()


def awaited(stream: et.Stream) -> None:
    """A daemon thread with an event loop that awaits."""
    stream.submit(time.sleep, FOREVER)
    event = stream.record_event()

    async def wait() -> None:
        await event

    threading.Thread(target=lambda: asyncio.run(wait()), daemon=True).start()


def listeners(stream: et.Stream) -> None:
    """Python callbacks on hooks that fire on the worker."""
    et.hooks.on("work_completion", lambda *arguments: sum(range(200)))
    endless_chain(stream)


def waiting_streams(stream: et.Stream) -> None:
    """A stream that waits for another one and never continues."""
    other = et.Stream("cpu")
    stream.submit(time.sleep, FOREVER)
    other.wait_stream(stream)
    other.submit(print, "never")


def full_stream(stream: et.Stream) -> None:
    """A daemon thread in a submit to a full stream."""
    narrow = et.Stream("cpu", max_pending=1)
    for _ in range(2):
        narrow.submit(time.sleep, FOREVER)
    threading.Thread(target=lambda: narrow.submit(int), daemon=True).start()


def copies(stream: et.Stream) -> None:
    target, source = et.empty(1 << 22), et.empty(1 << 22)
    for _ in range(200):
        stream.copy(target, source)


KINDS = (
    python_loop,
    python_sleep,
    many_small,
    endless_chain,
    native_sleep,
    notifications,
    blocked_threads,
    awaited,
    listeners,
    waiting_streams,
    full_stream,
    copies,
)


def main(seed: int, how: str) -> None:
    random.seed(seed)
    kept = []
    for kind in random.sample(KINDS, random.randint(1, 4)):
        stream = et.Stream("cpu")
        kind(stream)
        kept.append(stream)
    if random.random() < 0.5:
        globals()["kept"] = kept  # else the streams are dropped while busy
    del kept, stream
    time.sleep(random.random() * 0.03)  # the random moment
    if how == "exit":
        sys.exit(7)
    if how == "raise":
        raise RuntimeError("the planned error")


main(int(sys.argv[1]), sys.argv[2])
