"""What the hooks said, put together: work becomes spans, synchronizations too, records and waits become edges."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from typing import Any

from eventide.store._eventide_columns import ABSENT, Names
from eventide.store._eventide_tracks import Tracks

OUTCOMES = (None, "ok", "failed", "skipped", "cancelled")
_SYNCS = ("stream_synchronization", "event_synchronization", "device_synchronization")
_NEWEST = -1  # the version of an event that somebody named by hand: whatever was recorded last

Row = dict[str, Any]

# What the adapter of pyopencl calls its commands; no kernel has a blank in its name.
_MOVES = re.compile(r"(read|write|copy|fill|map|unmap|migrate) (buffer|rectangle|image|SVM|memory)")


def _category(name: str, device: str | None) -> str:
    return "copy" if device is not None and device.startswith("opencl:") and _MOVES.match(name) else "work"


class Work:
    """Walks the operations in order. `spans` and `edges` are rows; `first` is the number of the first span here."""

    def __init__(self, hooks: dict[str, Any], hook_names: list[str], names: Names, tracks: Tracks, first: int) -> None:
        self._first = first
        self._tracks = tracks
        self._names = names
        self.spans: list[Row] = []
        self.edges: list[Row] = []
        self._of_work: dict[int, int] = {}  # work id -> span
        self._submitted: dict[int, list[tuple[int, int]]] = defaultdict(list)  # stream -> (position, span)
        self._track_of: dict[int, int] = {}  # stream -> track
        self._devices: dict[int, str | None] = {}  # stream -> device
        self._records: dict[tuple[int, int], tuple[int, int, int]] = {}  # event, version -> position, time, stream
        self._newest: dict[int, int] = {}  # event -> version
        self._waits: list[tuple[int, int, int, int, int]] = []  # position, time, event, version, stream
        self._syncs: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)  # who -> (span, position)
        self._ended: list[tuple[int, int, Row]] = []  # span, position at its start, the operation
        columns = {name: column.tolist() for name, column in hooks.items() if not name.startswith("access_")}
        for position, values in enumerate(zip(*columns.values(), strict=True)):
            row = dict(zip(columns, values, strict=True))
            self._take(position, hook_names[row["hook"]], row)
        self._launches()
        self._bind_waits()
        self._bind_syncs()

    def _take(self, position: int, hook: str, row: Row) -> None:
        if row["stream"]:
            self._meet_stream(hook, row)
        if hook == "work_submission":
            self._submission(position, row)
        elif hook == "work_completion":
            self._completion(row)
        elif hook == "event_record":
            version = row["version"]
            if version == _NEWEST:
                version = self._newest.get(row["event"], 0) + 1
            self._newest[row["event"]] = version
            self._records[row["event"], version] = (position, row["time"], row["stream"])
        elif hook == "event_wait":
            self._waits.append((position, row["time"], row["event"], self._version(row), row["stream"]))
        elif hook in _SYNCS:
            self._synchronization(position, hook, row)

    def _version(self, row: Row) -> int:
        return self._newest.get(row["event"], 0) if row["version"] == _NEWEST else int(row["version"])

    def _meet_stream(self, hook: str, row: Row) -> None:
        stream = row["stream"]
        name = self._names[row["name"]] if hook == "stream_creation" and row["name"] else ""
        if stream in self._track_of and not name:
            return
        device = self._names[row["device"]] if row["device"] else self._devices.get(stream)
        self._devices[stream] = device
        self._track_of[stream] = self._tracks.of_stream(device, stream, name)

    def _add(self, span: Row) -> int:
        self.spans.append(span)
        return self._first + len(self.spans) - 1

    def _submission(self, position: int, row: Row) -> None:
        span = self._add(
            {
                "track": self._track_of.get(row["stream"], 0),
                "name": self._names[row["name"]],
                "category": _category(self._names[row["name"]], self._devices.get(row["stream"])),
                "start": row["time"],
                "submit": row["time"],
                "work": row["work"],
                "stack": row["stack"],
                "thread": row["thread"],
            }
        )
        self._of_work[row["work"]] = span
        self._submitted[row["stream"]].append((position, span))

    def _completion(self, row: Row) -> None:
        at = self._of_work.get(row["work"])
        if at is None:  # submitted before the recording began
            track = self._track_of.get(row["stream"], 0)
            at = self._add({"track": track, "name": f"work {row['work']}", "category": "work", "work": row["work"]})
        span = self.spans[at - self._first]
        start, end = row["start"], row["finish"]
        if start == ABSENT:
            start = end = row["time"]
        span["start"], span["duration"] = start, max(0, end - start)
        span["outcome"] = OUTCOMES[row["outcome"]]
        span["cpu"] = None if row["cpu"] == ABSENT else row["cpu"]

    def _synchronization(self, position: int, hook: str, row: Row) -> None:
        who = (row["thread"], hook, row["handle"], row["stream"], row["event"])
        open_ = self._syncs[who]
        if not row["end"]:
            args = {"event_synchronization": "event", "stream_synchronization": "stream"}.get(hook)
            span = self._add(
                {
                    "track": row["thread"],
                    "name": hook,
                    "category": "sync",
                    "start": row["time"],
                    "stack": row["stack"],
                    "args": f'{{"{args}": {row[args]}}}' if args else f'{{"device": "{self._names[row["device"]]}"}}',
                }
            )
            open_.append((span, position))
            self._ended.append((span, position, {**row, "hook_name": hook, "version": self._version(row)}))
        elif open_:
            span, _ = open_.pop()
            started = self.spans[span - self._first]
            started["duration"] = max(0, row["time"] - started["start"])

    def _end_of(self, span: int) -> int | None:
        row = self.spans[span - self._first]
        return None if row.get("duration") is None else row["start"] + row["duration"]

    def _last_before(self, stream: int, position: int) -> int | None:
        """The last work submitted to the stream before that operation."""
        submitted = self._submitted.get(stream, [])
        at = bisect_left(submitted, (position, -1))
        return submitted[at - 1][1] if at else None

    def _launches(self) -> None:
        for span, row in enumerate(self.spans, self._first):
            if row["category"] in {"work", "copy"} and row.get("submit") is not None:
                self.edges.append(
                    {
                        "kind": "launch",
                        "from_track": row["thread"],
                        "from_time": row["submit"],
                        "to_track": row["track"],
                        "to_time": row["start"],
                        "to_span": span,
                        "correlation": row["work"],
                    }
                )

    def _bind_waits(self) -> None:
        for position, time, event, version, stream in self._waits:
            record = self._records.get((event, version))
            if record is None:
                continue
            at, recorded, source = record
            before = self._last_before(source, at)
            submitted = self._submitted.get(stream, [])
            after = bisect_left(submitted, (position, -1))
            to_span = submitted[after][1] if after < len(submitted) else None
            self.edges.append(
                {
                    "kind": "wait",
                    "from_track": self._track_of.get(source, 0),
                    "from_time": self._passed(before, recorded),
                    "from_span": before,
                    "to_track": self._track_of.get(stream, 0),
                    "to_time": time if to_span is None else self.spans[to_span - self._first]["start"],
                    "to_span": to_span,
                    "event": event,
                    "version": version,
                }
            )

    def _passed(self, before: int | None, recorded: int) -> int:
        """When a marker behind that work was passed: at its end, or at once where there was nothing to wait for."""
        end = None if before is None else self._end_of(before)
        return recorded if end is None else max(recorded, end)

    def _bind_syncs(self) -> None:
        for span, position, row in self._ended:
            hook = row["hook_name"]
            if hook == "event_synchronization":
                record = self._records.get((row["event"], row["version"]))
                sources = [] if record is None else [(record[2], record[0])]
            elif hook == "stream_synchronization":
                sources = [(row["stream"], position)]
            else:
                device = self._names[row["device"]] if row["device"] else None
                sources = [(s, position) for s in self._submitted if device is None or self._devices.get(s) == device]
            sync = self.spans[span - self._first]
            for stream, at in sources:
                before = self._last_before(stream, at)
                if before is None:
                    continue
                end, over = self._end_of(before), self._end_of(span)
                self.edges.append(
                    {
                        "kind": "synchronize",
                        "from_track": self._track_of.get(stream, 0),
                        "from_time": sync["start"] if end is None else end,
                        "from_span": before,
                        "to_track": sync["track"],
                        "to_time": sync["start"] if over is None else over,
                        "to_span": span,
                        "event": row["event"] or None,
                        "version": row["version"] if row["event"] else None,
                    }
                )
