"""Raw events of Kineto, torch's own profiler, become spans, instants and edges of the recording that runs.

Operators and calls of the runtime are on the tracks of their threads, device activity on one track for each stream.
Launches, waits and synchronizations are not recorded here: they follow from the correlation ids when the trace is read,
as in Kineto's own files (trace/formats/eventide/_kineto.py).
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from eventide import _native
from eventide.trace.linking import ALL_STREAMS, RUNTIMES, STEP, category_of, is_device

_FLUSH = 50_000  # events between two flushes of the recorder, whose buffer must not overflow
_FORWARD_BACKWARD = 1  # the type of the flow from an operator to its gradient
_LAUNCH = 2  # the type of the flow from a call to its work
_INSTANT = "cpu_instant_event"


class Conversion:
    """Of one session. `offset` is added to Kineto's Unix time, `device` names a type such as "cuda".

    Without `operators`, only device activity, its calls and `memory` are recorded; without `steps`, steps are
    annotations. An event of a thread is skipped if `skip(thread, name, start)`.
    """

    def __init__(
        self,
        offset: int,
        *,
        device: Callable[[str], str] = str,
        operators: bool = True,
        memory: bool = True,
        shapes: bool = False,
        flops: bool = False,
        skip: Callable[[int, str, int], bool] | None = None,
        steps: bool = True,
        pid: int | None = None,
    ) -> None:
        self.operators = 0
        self.on_devices = 0
        self._offset = offset
        self._device = device
        self._operators, self._memory, self._shapes, self._flops = operators, memory, shapes, flops
        self._skip, self._steps = skip, steps
        self._pid = os.getpid() if pid is None else pid
        self._threads: dict[int, str] = {}
        self._streams: dict[tuple[str, int, bool], str] = {}
        self._flows: dict[int, tuple[str, int]] = {}
        self._allocated: dict[str, int] = defaultdict(int)

    def take(self, events: Iterable[Any]) -> None:
        """Record them."""
        for number, event in enumerate(events, 1):
            self._take_one(event, event.activity_type())
            if number % _FLUSH == 0:
                _native.recorder_flush()

    def _take_one(self, event: Any, activity: str) -> None:
        if activity == "cpu_op":
            if self._operators:
                self._operator(event)
        elif activity == _INSTANT:
            if self._memory:
                self._instant(event)
        elif is_device(activity) or event.device_index() != self._pid:
            self._on_device(event, activity)
        elif self._operators or RUNTIMES.match(activity):
            self._on_host(event, activity)

    def _operator(self, event: Any) -> None:
        name, start, thread = event.name(), event.start_ns(), event.device_resource_id()
        if self._skip is not None and self._skip(thread, name, start):
            return
        begin = start + self._offset
        track = self._thread(thread)
        category = category_of("cpu_op", name, on_stream=False)
        end, args = begin + event.duration_ns(), self._arguments(event)
        _native.record_span(track, name, category, begin, end, args)
        self.operators += 1
        flow = event.flow_id()
        if flow and event.flow_type() == _FORWARD_BACKWARD:
            self._flow(flow, event.flow_start(), track, begin)

    def _arguments(self, event: Any) -> str | None:
        if not self._shapes and not self._flops:
            return None
        about: dict[str, Any] = {}
        if self._shapes:
            about = {
                "Input Dims": event.structured_input_shapes(),
                "Input type": event.dtypes(),
                "Input Strides": event.structured_input_strides(),
            }
        if self._flops and event.flops():
            about["flops"] = event.flops()
        return json.dumps(about) if about else None

    def _flow(self, flow: int, starts: bool, track: str, time: int) -> None:
        other = self._flows.pop(flow, None)
        if other is None:
            self._flows[flow] = (track, time)
            return
        (begin, at), (end, then) = ((track, time), other) if starts else (other, (track, time))
        _native.record_edge("fwdbwd", begin, at, end, then, correlation=flow)

    def _on_host(self, event: Any, activity: str) -> None:
        """Annotations, calls of the runtime and the driver, Python functions."""
        name, start, thread = event.name(), event.start_ns(), event.device_resource_id()
        if self._skip is not None and self._skip(thread, name, start):
            return
        begin = start + self._offset
        category = category_of(activity, name, on_stream=False)
        if category == "step" and not self._steps:
            category = "annotation"
        call = RUNTIMES.match(activity)
        step = STEP.match(name) if category == "step" else None
        _native.record_span(
            self._thread(thread),
            name,
            category,
            begin,
            begin + event.duration_ns(),
            work=int(step[1]) if step else 0,
            correlation=_correlation(event) if call else 0,
        )

    def _on_device(self, event: Any, activity: str) -> None:
        name, begin = event.name(), event.start_ns() + self._offset
        about = _metadata(event)
        stream = about.get("stream")
        if not isinstance(stream, int):
            stream = event.device_resource_id()
        where = f"{self._device(event.device_type().name.lower())}:{event.device_index()}"
        beside = stream in ALL_STREAMS or RUNTIMES.match(activity) is not None
        category = category_of(activity, name, on_stream=not beside)
        end, args = begin + event.duration_ns(), json.dumps(about) if about else None
        _native.record_span(
            self._stream(where, stream, beside), name, category, begin, end, args, correlation=_correlation(event)
        )
        self.on_devices += 1

    def _instant(self, event: Any) -> None:
        """Allocated or freed memory, and other events without a duration."""
        name, time = event.name(), event.start_ns() + self._offset
        about = _metadata(event)
        if name == "[memory]":
            kind = event.device_type().name.lower()
            where = f"{self._device(kind)}:{0 if kind == 'cpu' else event.device_index()}"
            about |= {"Bytes": event.nbytes(), "Device": where}
            self._allocated[where] += event.nbytes()
            counter = json.dumps({"kind": "counter", "name": f"memory {where}", "device": where})
            _native.record_counter(counter, "allocated bytes", self._allocated[where], time)
        track = self._thread(event.device_resource_id())
        _native.record_instant(track, name, category_of(_INSTANT, name, on_stream=False), json.dumps(about), 0, time)

    def _thread(self, tid: int) -> str:
        track = self._threads.get(tid)
        if track is None:
            name = f"thread {tid}"
            with suppress(OSError):  # it may have ended
                name = Path(f"/proc/self/task/{tid}/comm").read_text("utf-8").strip()
            track = self._threads[tid] = json.dumps({"kind": "thread", "name": name, "tid": tid})
        return track

    def _stream(self, where: str, stream: int, beside: bool) -> str:
        """The track of a stream, of activity of all streams, or of calls that are on no stream."""
        track = self._streams.get((where, stream, beside))
        if track is None:
            about: dict[str, Any] = {"kind": "stream", "name": f"stream {stream}", "device": where, "stream": stream}
            if beside:
                line = "all streams" if stream in ALL_STREAMS else f"line {stream}"
                about = {"kind": "other", "name": f"{where} {line}", "device": where}
            track = self._streams[where, stream, beside] = json.dumps(about)
        return track


def _correlation(event: Any) -> int:
    """The id that a call and its work share; without one, that of their flow."""
    given = int(event.correlation_id())
    return max(0, given or (event.flow_id() if event.flow_type() == _LAUNCH else 0))


def _metadata(event: Any) -> dict[str, Any]:
    """The arguments; Kineto writes the members of a JSON object without its braces."""
    text = event.metadata_json()
    try:
        about: dict[str, Any] = json.loads(f"{{{text}}}")
    except ValueError:
        about = {"metadata": text}
    if event.linked_correlation_id() > 0:
        about.setdefault("External id", event.linked_correlation_id())
    return about
