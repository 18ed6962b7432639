"""Compile a device written in C++ and overlap work on it: what ran when, by the device's own clock.

Blocks are loaded, computed and stored: on one stream, then on three that wait for each other through events. The events
are timed, so the picture is what the device measured.
"""

import hashlib
import zlib
from contextlib import closing
from pathlib import Path

import eventide as et

SOURCE = Path(__file__).parent / "threads_device" / "threads_device.cpp"
BLOCKS, WIDTH = 4, 72  # columns of the picture
PACKED = zlib.compress(bytes(range(256)) * 40_000, 1)


def load(slots, block):
    slots[block] = zlib.decompress(PACKED)


def compute(slots, block):
    slots[block] = hashlib.sha256(slots[block]).hexdigest().encode() * 60_000


def store(slots, block):
    slots[block] = zlib.crc32(zlib.compress(slots[block], 1))


def run(streams):  # everything is submitted at once; gives (stage, block, start, end) for each work
    slots, spans = {}, []
    for block in range(BLOCKS):
        for stage, stream in zip((load, compute, store), streams, strict=True):
            start, end = et.Event("threads", enable_timing=True), et.Event("threads", enable_timing=True)
            if stage is not load:
                stream.wait_event(spans[-1][3])  # the end of the stage before
            start.record(stream)
            stream.submit(stage, slots, block)
            end.record(stream)
            spans.append((stage.__name__, block, start, end))
    end.synchronize()
    return spans


if __name__ == "__main__":
    print("built", et.Device.build("threads", sources=[SOURCE]), "-", et.Device("threads").name)
    a, b, c = et.Stream("threads:0"), et.Stream("threads:1"), et.Stream("threads:0")
    with closing(a), closing(b), closing(c):
        for title, spans in (("one stream", run([a, a, a])), ("three streams", run([a, b, c]))):
            zero, total = spans[0][2], spans[0][2].elapsed_time(spans[-1][3])
            rows = {stage: [" "] * (WIDTH + 1) for stage in ("load", "compute", "store")}
            for stage, block, *events in spans:
                first, last = (round(WIDTH * zero.elapsed_time(event) / total) for event in events)
                rows[stage][first : last + 1] = str(block) * (last + 1 - first)
            print(f"\n{title}: {total:.0f} ms")
            for stage, row in rows.items():
                print(f"{stage:8}|{''.join(row)}|")
