"""Finds the thread, stream or process of each track of a Chrome trace."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eventide.trace.linking._columns import NONE, Ids, Mask, Strings, first_of_each, texts
from eventide.trace.linking._event_names import ALL_STREAMS, is_device

_INTEGER, _TEXT, _LANE = 1, 2, 3  # kinds of ids in the core
STREAM = re.compile(r"\s*streams?\s*#?\s*(\d{1,18})\b(?!.*queue)", re.IGNORECASE)
_DEVICE = re.compile(
    r"(?:^|/device:)\s*(GPU|TPU|XPU|NPU|HPU|MTIA|Device|CUDA|Ascend(?= Hardware))\b[ :]*(?:Hardware)?[ :]*(\d{1,9})?",
    re.IGNORECASE,
)
# Processes of Ascend's profiler that show the time of its streams again, by group or by kind.
_REPEATS = re.compile(r"(Overlap Analysis|Communication|HCCL|AI Core Freq)\b")
_STREAM_OF_PROCESS = re.compile(r"/stream:(\d{1,9}|all)\b")  # TensorFlow has a process for each stream
_NOT_PROCESSES = {"Spans", "Traces", ""}  # Kineto's processes for events of the whole recording
LINES_OF_TPU = {"XLA Ops", "Async XLA Ops"}  # other lines repeat the same time, by step, module or name scope
# Patterns for categories and device properties, then for names of runtime calls. Kernels of AMD keep names in cu.
_KINDS = {
    "mtia": re.compile(r"mtia"),
    "xpu": re.compile(r"^xpu_|Intel.*(GPU|Graphics|Max)"),
    "hpu": re.compile(r"^hpu_|Gaudi"),
    "hip": re.compile(r"^hip|AMD|Radeon|Instinct"),
    "npu": re.compile(r"Ascend"),
    "cuda": re.compile(r"NVIDIA|Tesla|GeForce|Quadro"),
}
_CALLS = {
    "hip": re.compile(r"hip[A-Z]\w+$"),
    "cuda": re.compile(r"cu(da)?[A-Z]\w+$"),
    "xpu": re.compile(r"(ze|ur|pi)[A-Z]\w+$"),
    "npu": re.compile(r"aclrt[A-Z]\w+$"),
}


@dataclass
class Track:
    """A row of the table of tracks."""

    kind: str
    name: str
    pid: int | None = None
    tid: int | None = None
    device: str | None = None
    stream: int | None = None
    parent: int | None = None


@dataclass
class Tracks:
    """Every track; the first ones in the order of the core, so that its numbers stay valid."""

    rows: list[Track]
    counters: dict[tuple[int, str], int] = field(default_factory=dict)
    process_of: dict[int, int] = field(default_factory=dict)

    def of_stream(self, device: str | None, stream: int) -> int | None:
        """The track of a device's stream."""
        if not hasattr(self, "_streams"):
            rows = enumerate(self.rows)
            self._streams = {(row.device, row.stream): n for n, row in rows if row.kind == "stream"}
        return self._streams.get((device, stream))

    def counter(self, near: int, name: str, device: str | None = None) -> int:
        """The track of a counter of the process that the track `near` belongs to; created on first use."""
        key = (self.process_of.get(near, -1), name)
        if key not in self.counters:
            parent = self.process_of.get(near)
            self.counters[key] = len(self.rows)
            self.rows.append(Track("counter", name, self.rows[near].pid, None, device, None, parent))
        return self.counters[key]

    def compact(self, used: Mask) -> Ids:
        """Remove tracks without rows, then processes without tracks. Returns the new numbers."""
        keep = np.zeros(len(self.rows), np.bool_)
        keep[: len(used)] = used
        keep[[row.parent for row, wanted in zip(self.rows, keep, strict=True) if wanted and row.parent is not None]] = (
            True
        )
        numbers = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        self.rows = [row for row, wanted in zip(self.rows, keep, strict=True) if wanted]
        for row in self.rows:
            row.parent = None if row.parent is None else int(numbers[row.parent])
        return numbers

    def columns(self, rank: int | None) -> dict[str, list[Any]]:
        """The table's columns."""
        names = ("kind", "name", "parent", "pid", "tid", "device", "stream")
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in names}
        columns["rank"] = [rank] * len(self.rows)
        return columns


@dataclass
class _Names:
    """The names of processes and threads, from metadata events."""

    process: dict[tuple[int, int], str] = field(default_factory=dict)
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    thread: dict[int, str] = field(default_factory=dict)


def find_tracks(columns: dict[str, Any], strings: Strings, properties: list[Any]) -> Tracks:
    """Separate the tracks of devices from those of the host, by their events and their names."""
    raw, spans = columns["tracks"], columns["spans"]
    names = _read_names(columns, strings)
    count = len(raw["pid"])
    sources = strings.used(spans["category"])
    device_source = np.zeros(len(strings), np.bool_)
    device_source[[number for number, text in sources.items() if is_device(text)]] = True
    busy = np.zeros(count, np.bool_)
    busy[spans["track"][device_source[spans["category"]]]] = True
    device_of, stream_of = _ids(spans, "device", count), _ids(spans, "stream", count)
    kind = _device_kind([*sources.values(), *_names_of_devices(properties)], strings)
    rows: list[Track] = []
    processes: dict[tuple[int, int], int] = {}
    ascend = any(label.startswith("Ascend Hardware") for label in names.process.values())
    for number in range(count):
        pid = (int(raw["pid_kind"][number]), int(raw["pid"][number]))
        tid = (int(raw["tid_kind"][number]), int(raw["tid"][number]))
        place = Place(pid, tid, _text(pid, strings), _text(tid, strings), bool(busy[number]))
        place.label = names.process.get(pid, "")
        place.thread = names.thread.get(number, "")
        place.repeats = ascend and _REPEATS.match(place.label) is not None
        rows.append(place.track(kind, device_of.get(number), stream_of.get(number)))
    tracks = Tracks(rows)
    for number in range(count):
        pid = (int(raw["pid_kind"][number]), int(raw["pid"][number]))
        if pid not in processes:
            processes[pid] = len(rows)
            rows.append(_process(pid, names, strings, rows[number]))
        rows[number].parent = tracks.process_of[number] = processes[pid]
    return tracks


@dataclass
class Place:
    """What is known about one (pid, tid)."""

    pid: tuple[int, int]
    tid: tuple[int, int]
    pid_text: str
    tid_text: str
    busy: bool  # it has events that only devices have
    label: str = ""
    thread: str = ""
    repeats: bool = False  # its process shows the time of streams again

    def track(self, kind: str, device: int | None, stream: int | None) -> Track:
        pid, tid = _number(self.pid), _number(self.tid)
        if self.tid[0] == _LANE:
            category, lane = self.tid_text, self.tid[1] & 0xFFFFFFFF
            return Track("other", f"{category or 'asynchronous'} {lane + 1}", pid)
        named = _DEVICE.search(self.label) or _DEVICE.search(self.pid_text)
        matched = STREAM.match(self.thread) or STREAM.match(self.tid_text) or _STREAM_OF_PROCESS.search(self.label)
        if self.busy or (named and (matched or self.thread in LINES_OF_TPU)) or self.pid_text == "CUDA functions":
            return self._on_device(kind, named, matched, device, stream)
        name = self.thread or self.tid_text or ("" if tid is None else f"thread {tid}")
        if self.repeats:
            return Track("other", name or self.label, pid, tid)
        if named:  # of a device and not a stream: a queue, or a line that repeats the time of the streams
            return Track("other", name, pid, tid, self._where(kind, named, device))
        if self.tid[0] == _INTEGER or (name and self.pid_text not in _NOT_PROCESSES):
            return Track("thread", name, pid, tid)
        return Track("other", name or "trace", pid, tid)

    def _where(self, kind: str, named: re.Match[str] | None, device: int | None) -> str:
        index = device if device is not None else _number(self.pid)
        if named:
            word = named[1].lower()
            kind = kind if word in {"gpu", "device"} else "npu" if word == "ascend" else word
            index = int(named[2] or 0) if device is None else device
        return f"{kind}:{index if index is not None else 0}"

    def _on_device(
        self,
        kind: str,
        named: re.Match[str] | None,
        matched: re.Match[str] | None,
        device: int | None,
        stream: int | None,
    ) -> Track:
        where = self._where(kind, named, device)
        if stream is None:
            stream = (int(matched[1]) if matched[1] != "all" else 0) if matched else _number(self.tid)
        pid, tid = _number(self.pid), _number(self.tid)
        if stream in ALL_STREAMS:  # for all streams, such as a synchronization of the device
            return Track("other", f"{where} all streams", pid, tid, where)
        name = self.thread.strip() or (f"stream {stream}" if stream is not None else self.tid_text or "stream")
        return Track("stream", name, pid, tid, where, stream if stream is not None else 0)


def _process(pid: tuple[int, int], names: _Names, strings: Strings, example: Track) -> Track:
    number = _number(pid)
    if example.device is not None:
        return Track("other", names.labels.get(pid) or example.device, number, None, example.device)
    name = names.process.get(pid) or (f"process {number}" if number is not None else _text(pid, strings))
    return Track("process", name or "trace", number)


def _read_names(columns: dict[str, Any], strings: Strings) -> _Names:
    found, raw = _Names(), columns["tracks"]
    what = strings.used(columns["names"]["name"])
    rows = zip(
        columns["names"]["track"].tolist(),
        columns["names"]["name"].tolist(),
        texts(columns["names"]["args"]).to_pylist(),
        strict=True,
    )
    for track, number, text in rows:
        if what[number] not in {"process_name", "process_labels", "thread_name"} or not text:
            continue
        value = json.loads(text).get("labels" if what[number] == "process_labels" else "name")
        if not isinstance(value, str) or not value:
            continue
        pid = (int(raw["pid_kind"][track]), int(raw["pid"][track]))
        if what[number] == "process_name":
            found.process[pid] = value
        elif what[number] == "process_labels":
            found.labels[pid] = value
        else:
            found.thread[track] = value
    return found


def _ids(spans: dict[str, Any], column: str, tracks: int) -> dict[int, int]:
    """The value of a column on each track if there is only one."""
    values = spans[column]
    if not len(values):
        return {}
    rows = np.flatnonzero(values != NONE)
    on, ids = spans["track"][rows], values[rows]
    first = first_of_each(on, tracks)
    mixed = np.zeros(tracks, np.bool_)
    mixed[on[ids != ids[first[on]]]] = True
    return {int(track): int(ids[first[track]]) for track in np.flatnonzero((first >= 0) & ~mixed)}


def _device_kind(words: list[str], strings: Strings) -> str:
    """The kind of the trace's devices: cuda, hip, xpu, ...; gpu if unknown."""
    for kind, pattern in _KINDS.items():
        if any(pattern.search(word) for word in words):
            return kind
    names = strings.array[:200_000].to_pylist()  # runtime calls come early, and are few
    for kind, pattern in _CALLS.items():
        if any(pattern.match(name) for name in names):
            return kind
    return "cuda" if any(word.startswith("cuda") for word in words) else "gpu"


def _names_of_devices(properties: list[Any]) -> list[str]:
    return [str(device.get("name", "")) for device in properties if isinstance(device, dict)]


def _number(identity: tuple[int, int]) -> int | None:
    return identity[1] if identity[0] == _INTEGER else None


def _text(identity: tuple[int, int], strings: Strings) -> str:
    if identity[0] == _LANE:
        return strings[identity[1] >> 32]
    return strings[identity[1]] if identity[0] == _TEXT else ""
