"""What does a device written in Python cost per record, wait and query? Against `cpu`, whose table is native.

The device does as little as a device can: markers are done at once, so what is measured is the way there and back.
An empty loop is subtracted on both sides. No bar: it says what an author pays for Python.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Options, Row, compare, pinned, statement
from eventide.backends import Capabilities, DeviceBackend, MarkerState

if TYPE_CHECKING:
    from collections.abc import Iterator


class Instant(DeviceBackend):
    """A device that is always done."""

    type = "instant"

    def capabilities(self, index: int) -> Capabilities:
        flags = dict.fromkeys(
            (
                "timing",
                "join_timeout",
                "gate",
                "copy",
                "host_visible",
                "concurrent",
                "priorities",
                "default_stream_blocks",
            ),
            False,
        )
        return Capabilities(deferred=True, heals=True, clock="none", **flags)

    def open_stream(self, index: int, priority: int) -> object:
        return object()

    def submit(self, stream: Any, work: Any) -> None:
        work.run()

    def make_marker(self, stream: Any, timing: bool) -> object:
        return stream

    def wait(self, stream: Any, marker: Any) -> None:
        pass

    def poll(self, marker: Any) -> int:
        return MarkerState.DONE

    def completed_at(self, marker: Any) -> int:
        return 0


CASES = (("e.record(s)", "e.record(s)"), ("e.wait(s2)", "e.wait(t)"), ("record, then query", "e.record(s); e.query()"))


def rows(options: Options) -> Iterator[Row]:
    number = options.number(50_000)
    et.Device.register(Instant)
    names: dict[str, dict[str, Any]] = {}
    for device in ("instant", "cpu"):
        names[device] = {"e": et.Event(device), "s": et.Stream(device), "t": et.Stream(device)}
        names[device]["e"].record(names[device]["s"])
    with pinned():
        for what, code in CASES:
            ours, theirs = (statement(code, names[device], number) for device in ("instant", "cpu"))
            yield compare(f"{what} on a Python device", "the same on cpu", ours, theirs, options)
    for device in names:
        for stream in ("s", "t"):
            with closing(names[device][stream]):
                pass
