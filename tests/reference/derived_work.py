"""What follows from the operations of a recording, in plain Python: one row after the other, one dict a row."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, Protocol

from eventide.trace.formats.chrome._memory import memory_changes

ABSENT = -(2**63)
NEWEST = -1
OUTCOMES = (None, "ok", "failed", "skipped", "cancelled")
SYNCS = ("stream_synchronization", "event_synchronization", "device_synchronization")

Row = dict[str, Any]


class Tracks(Protocol):
    def of_stream(self, device: str | None, stream: int, name: str = "") -> int: ...


class Work:
    """Walks the operations in order. `spans` and `edges` are rows; `first` is the number of the first span here.

    `every_stream`: a synchronization of a device has an edge from each stream of it that ever got work.
    """

    def __init__(
        self, operations: list[Row], names: Any, tracks: Tracks, first: int, *, every_stream: bool = False
    ) -> None:
        self.first, self.tracks, self.names = first, tracks, names
        self.every_stream = every_stream
        self.operations = operations
        self.spans: list[Row] = []
        self.edges: list[Row] = []
        self.of_work: dict[int, int] = {}  # work id -> span
        self.submitted: dict[int, list[tuple[int, int]]] = defaultdict(list)  # stream -> (position, span)
        self.track_of: dict[int, int] = {}
        self.devices: dict[int, str | None] = {}
        self.records: dict[tuple[int, int], tuple[int, int, int]] = {}  # event, version -> position, time, stream
        self.newest: dict[int, int] = {}
        self.waits: list[tuple[int, Row]] = []
        self.open: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        self.syncs: list[Row] = []
        for position, row in enumerate(operations):
            self.take(position, row)
        self.bind_launches()
        self.bind_waits()
        for sync in self.syncs:
            self.bind_sync(sync)

    def take(self, position: int, row: Row) -> None:
        hook = row["hook"]
        if row["stream"]:
            self.meet_stream(row)
        if hook == "work_submission":
            self.submission(position, row)
        elif hook == "work_completion":
            self.completion(row)
        elif hook == "event_record":
            version = self.newest.get(row["event"], 0) + 1 if row["version"] == NEWEST else row["version"]
            self.newest[row["event"]] = version
            self.records[row["event"], version] = (position, row["time"], row["stream"])
        elif hook == "event_wait":
            self.waits.append((position, {**row, "version": self.version(row)}))
        elif hook in SYNCS:
            self.synchronization(position, row)

    def version(self, row: Row) -> int:
        return self.newest.get(row["event"], 0) if row["version"] == NEWEST else int(row["version"])

    def meet_stream(self, row: Row) -> None:
        stream = row["stream"]
        name = self.names[row["name"]] if row["hook"] == "stream_creation" and row["name"] else ""
        if stream in self.track_of and not name:
            return
        device = self.names[row["device"]] if row["device"] else self.devices.get(stream)
        self.devices[stream] = device
        self.track_of[stream] = self.tracks.of_stream(device, stream, name)

    def add(self, span: Row) -> int:
        self.spans.append({"duration": None, "submit": None, "cpu": None, "outcome": None, "args": None, **span})
        return self.first + len(self.spans) - 1

    def submission(self, position: int, row: Row) -> None:
        span = self.add(
            {
                "track": self.track_of.get(row["stream"], 0),
                "name": self.names[row["name"]],
                "category": self.names[row["group"]] if row["group"] else "work",
                "start": row["time"],
                "submit": row["time"],
                "work": row["work"],
                "stack": row["stack"],
                "thread": row["thread"],
            }
        )
        self.of_work[row["work"]] = span
        self.submitted[row["stream"]].append((position, span))

    def completion(self, row: Row) -> None:
        at = self.of_work.get(row["work"])
        if at is None:  # submitted before the recording began
            track = self.track_of.get(row["stream"], 0)
            named = {"name": f"work {row['work']}", "category": "work", "work": row["work"]}
            at = self.add({"track": track, "stack": 0, **named})
        start, end = row["start"], row["finish"]
        if start == ABSENT:
            start = end = row["time"]
        self.spans[at - self.first].update(
            start=start,
            duration=max(0, end - start),
            outcome=OUTCOMES[row["outcome"]],
            cpu=None if row["cpu"] == ABSENT else row["cpu"],
        )

    def synchronization(self, position: int, row: Row) -> None:
        hook = row["hook"]
        open_ = self.open[row["thread"], hook, row["handle"], row["stream"], row["event"]]
        if row["end"]:
            if open_:
                sync = open_.pop()
                started = self.spans[sync["span"] - self.first]
                started["duration"] = max(0, row["time"] - started["start"])
                sync["ended"] = row["outcome"] != OUTCOMES.index("cancelled")
            return
        what = hook.partition("_")[0]
        about = self.names[row["device"]] if what == "device" else row[what]
        common = {"category": "sync", "start": row["time"], "stack": row["stack"], "work": None}
        span = self.add({"track": row["thread"], "name": hook, "args": json.dumps({what: about}), **common})
        sync = {**row, "version": self.version(row), "span": span, "position": position, "ended": False}
        open_.append(sync)
        self.syncs.append(sync)

    def end_of(self, span: int) -> int | None:
        row = self.spans[span - self.first]
        return None if row["duration"] is None else row["start"] + row["duration"]

    def last_before(self, stream: int, position: int) -> int | None:
        """The last work submitted to the stream before that operation."""
        before = [span for at, span in self.submitted.get(stream, []) if at < position]
        return before[-1] if before else None

    def bind_launches(self) -> None:
        for span, row in enumerate(self.spans, self.first):
            if row["submit"] is not None:
                self.edge("launch", (row["thread"], row["submit"], None), (row["track"], row["start"], span))
                self.edges[-1]["correlation"] = row["work"]

    def bind_waits(self) -> None:
        for position, row in self.waits:
            record = self.records.get((row["event"], row["version"]))
            if record is None:
                continue
            at, recorded, source = record
            before = self.last_before(source, at)
            end = None if before is None else self.end_of(before)
            passed = recorded if end is None else max(recorded, end)
            after = [span for place, span in self.submitted.get(row["stream"], []) if place >= position]
            to_time = self.spans[after[0] - self.first]["start"] if after else row["time"]
            self.edge(
                "wait",
                (self.track_of.get(source, 0), passed, before),
                (self.track_of.get(row["stream"], 0), to_time, after[0] if after else None),
                (row["event"], row["version"]),
            )

    def bind_sync(self, sync: Row) -> None:
        position = sync["position"]
        if sync["hook"] == "event_synchronization":
            record = self.records.get((sync["event"], sync["version"]))
            sources = [] if record is None else [(record[2], record[0])]
        elif sync["hook"] == "stream_synchronization":
            sources = [(sync["stream"], position)]
        else:
            sources = [(stream, position) for stream in self.of_device(sync)]
        span = self.spans[sync["span"] - self.first]
        over = self.end_of(sync["span"])
        for stream, at in sources:
            before = self.last_before(stream, at)
            if before is None:
                continue
            end = self.end_of(before)
            self.edge(
                "synchronize",
                (self.track_of.get(stream, 0), span["start"] if end is None else end, before),
                (span["track"], span["start"] if over is None else over, sync["span"]),
                (sync["event"], sync["version"]) if sync["event"] else (None, None),
            )

    def of_device(self, sync: Row) -> list[int]:
        """Streams with work since the last synchronization that ended and covers them, and the one that ended last."""
        waited = [s for s in self.covered(sync) if self.last_before(s, sync["position"]) is not None]
        ends = []
        for order, stream in enumerate(waited):
            before = self.last_before(stream, sync["position"])
            assert before is not None
            end = self.end_of(before)
            ends.append((2**63 if end is None else end, order, stream))
        if self.every_stream:
            return waited
        latest = max(ends)[2] if ends else None
        return [s for s in waited if s == latest or (sync["ended"] and self.is_fresh(s, sync["position"]))]

    def covered(self, sync: Row) -> list[int]:
        device = self.names[sync["device"]] if sync["device"] else None
        return [s for s in self.submitted if device is None or self.devices.get(s) == device]

    def is_fresh(self, stream: int, position: int) -> bool:
        earlier = [s for s in self.syncs if s["hook"] == "device_synchronization" and s["position"] < position]
        covering = [s["position"] for s in earlier if s["ended"] and stream in self.covered(s)]
        since = max(covering, default=-1)
        return any(since < at < position for at, _ in self.submitted[stream])

    def edge(self, kind: str, source: Any, target: Any, event: Any = (None, None)) -> None:
        ends = ("from_track", "from_time", "from_span", "to_track", "to_time", "to_span", "event", "version")
        values = dict(zip(ends, (*source, *target, *event), strict=True))
        self.edges.append({"kind": kind, **values, "correlation": None})

    def failures(self) -> list[Row]:
        """Work that raised, at the time when it did."""
        return [
            {
                "track": span["track"],
                "name": f"failed: {span['name']}",
                "category": "work",
                "time": span["start"] + span["duration"],
                "stack": span["stack"],
                "args": None,
            }
            for span in self.spans
            if span["outcome"] == "failed"
        ]

    def memory_levels(self) -> list[Row]:
        """How many bytes are allocated on each device, from one change to the next; a counter of the process."""
        changes = [(row["hook"], row["device"], row["handle"], row["bytes"]) for row in self.operations]
        return [
            {
                "track": 0,
                "name": f"memory of {self.names[self.operations[row]['device']]}",
                "time": self.operations[row]["time"],
                "value": float(total),
            }
            for row, _, total in memory_changes(changes)
        ]
