"""Exit while daemon threads are inside a device written in Python: `exit_in_device.py SEED DEVICE`.

DEVICE is `deferred` or `immediate`. Every method yields the GIL, so the interpreter ends the threads in all of them.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import time

import eventide as et
from examples.tiny_device import Marker, Tiny
from tests.immediate_device import Prompt
from tests.soak.devices import register_yielding


class Releasing(Tiny):
    """A device whose markers are released by code of its own"""

    type = "releasing"

    def release(self, marker: Marker) -> None:
        marker.passed.set()


def use(device: str, seed: int) -> None:
    """Every verb, repeatedly."""
    draw = random.Random(seed)
    streams = [et.Stream(device) for _ in range(2)]
    while True:
        stream, other = draw.sample(streams, 2)
        verb = draw.randrange(7)
        with contextlib.suppress(et.EventideError, TimeoutError):
            if verb == 0:
                other.wait_event(stream.record_event())
            elif verb == 1:
                stream.submit(sum, (1, 2)).result(0.01)
            elif verb == 2:
                stream.synchronize(0.01)
            elif verb == 3:
                stream.record_event().synchronize()
            elif verb == 4:
                stream.query()
            elif verb == 5:
                streams[streams.index(stream)] = et.Stream(device)
            else:
                stream.submit(time.sleep, 0)


def main(seed: int, kind: str) -> None:
    base = Releasing if kind == "deferred" else Prompt
    device = register_yielding(base, "yielding")
    if seed % 2:
        et.hooks.on("work_completion", lambda *_: time.sleep(0))
    for number in range(4):
        threading.Thread(target=use, args=[device, seed * 10 + number], daemon=True).start()
    time.sleep(random.Random(seed).random() * 0.05)


main(int(sys.argv[1]), sys.argv[2])
