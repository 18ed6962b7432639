"""A device in Python whose markers never complete: `python_device_never_completes.py FAULT`.

Prints what each verb raised, as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import eventide as et
from eventide.backends import MarkerState
from examples.tiny_device import Marker, Tiny
from tests.helpers import outcome


class Never(Tiny):
    """Wrong on purpose"""

    type = "never"
    fault = sys.argv[1]
    broken: Any = None  # the stream that is wrong; others are right

    def submit(self, steps: Any, work: Any) -> None:
        super().submit(steps, work)
        if self.fault == "its thread dies" and steps is self.broken:
            steps.put(lambda: 1 / 0)

    def make_marker(self, steps: Any, timing: bool) -> Marker:
        marker = super().make_marker(steps, timing)
        marker.broken = steps is self.broken  # type: ignore[attr-defined]
        return marker

    def poll(self, marker: Marker) -> MarkerState:
        if self.fault == "markers never end" and marker.broken:  # type: ignore[attr-defined]
            return MarkerState.PENDING
        return super().poll(marker)


threading.excepthook = lambda _: None
et.Device.register(Never)
stream, other, cpu = et.Stream("never"), et.Stream("never"), et.Stream("cpu")
Never.broken = stream._device_stream
future, event = stream.submit(int), stream.record_event()
said = {
    "result": outcome(lambda: future.result(0.05)),
    "event": outcome(lambda: event.synchronize(0.05)),
    "stream": outcome(lambda: stream.synchronize(0.05)),
    "other": outcome(lambda: other.submit(sum, (1, 2)).result(5)),
    "cpu": outcome(lambda: cpu.submit(sum, (1, 2)).result(5)),
}
sys.stdout.write(json.dumps(said))
