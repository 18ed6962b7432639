"""Events of a Kineto file with the getters of torch's raw events, torch._C._autograd._KinetoEvent."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eventide.trace.linking._event_names import is_device

PID = 12  # the number of each process in the files: they hold one each
FLOWS = {"fwdbwd": 1, "ac2g": 2}  # their types in Kineto


class FileEvent:
    """One slice of the file."""

    def __init__(self, event: dict[str, Any], base: int, device: str, flow: tuple[int, int, bool], pid: int) -> None:
        self._args = event.get("args", {})
        on_device = is_device(event["cat"]) or event["pid"] == self._args.get("device")
        self.name = lambda: event["name"]
        self.activity_type = lambda: event["cat"]
        self.start_ns = lambda: int(event["ts"] * 1000) + base
        self.duration_ns = lambda: int((event["ts"] + event["dur"]) * 1000) + base - self.start_ns()
        self.device_type = lambda: SimpleNamespace(name=device if on_device else "CPU")
        self.device_index = lambda: self._args.get("device", event["pid"]) if on_device else pid
        self.device_resource_id = lambda: event["tid"]
        self.correlation_id = lambda: self._args.get("correlation", 0)
        self.linked_correlation_id = lambda: self._args.get("External id", 0)
        self.flow_id, self.flow_type, self.flow_start = (lambda value=value: value for value in flow)
        self.metadata_json = lambda: json.dumps(self._args, default=float)[1:-1]
        self.flops = self.nbytes = lambda: 0


def events_of(path: Path, device: str, shift: int = 0, pid: int = PID) -> list[FileEvent]:
    """All slices that Kineto's own profilers made, in the order of the file; `shift` is added to their times."""
    document = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    base = document.get("baseTimeNanoseconds", 0) + shift
    flows: dict[tuple[Any, ...], tuple[int, int, bool]] = {}
    for event in document["traceEvents"]:
        if event.get("cat") in FLOWS and event["ph"] in "sf":
            place = (event["pid"], event["tid"], event["ts"])
            flows[place] = (int(event["id"]), FLOWS[event["cat"]], event["ph"] == "s")
    return [
        FileEvent(event, base, device, flows.get(place, (0, 0, False)), pid)
        for event in document["traceEvents"]
        if event["ph"] == "X" and event["cat"] != "Trace"
        for place in [(event["pid"], event["tid"], event["ts"])]
    ]
