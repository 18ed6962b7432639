"""Fork while the threads of a plug-in are busy, and use the device on both sides: `plugin_fork.py LIBRARY`."""

from __future__ import annotations

import os
import sys
import time

import eventide as et

LIMIT = 10.0  # seconds


def sums(device: et.Device) -> str:
    streams = [et.Stream(et.Device(device, index)) for index in (0, 1)]
    futures = [stream.submit(sum, range(number)) for number in range(100) for stream in streams]
    total = sum(future.result(LIMIT) for future in futures)
    for stream in streams:
        stream.close(LIMIT)
    return str(total)


def main(library: str) -> None:
    device = et.Device.load(library)
    stream = et.Stream(device)
    held = stream.submit(time.sleep, 0.2)
    child = os.fork()
    if not child:
        try:
            stream.submit(int)
        except et.StreamError as error:
            sys.stdout.write(f"{error}\n")
        sys.stdout.write(f"child {sums(device)}\n")
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    held.result(LIMIT)
    stream.close(LIMIT)
    sys.stdout.write(f"child ended with {status}\nparent {sums(device)}\n")


main(sys.argv[1])
