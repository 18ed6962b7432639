"""JAX's profiles for tests: a plain model of planes, its bytes as protobuf, and what a reader must make of it."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

from eventide.trace.formats.perfetto._proto import field as wire
from eventide.trace.formats.perfetto._proto import varint

BEGAN = 1_790_000_000_123_456_789  # Unix ns


@dataclass
class Event:
    name: str
    offset: int = 0  # ps
    duration: int = 0  # ps
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass
class Line:
    name: str
    events: list[Event]
    id: int = 1
    timestamp: int = 0  # ns


@dataclass
class Plane:
    name: str
    lines: list[Line] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Statistics that belong to all events of a name."""


def environment(began: int = BEGAN) -> Plane:
    """The plane that says when the profile began."""
    return Plane("Task Environment", stats={"profile_start_time": began})


def encode(planes: list[Plane]) -> bytes:
    """The file."""
    return b"".join(wire(1, _plane(plane)) for plane in planes)


def _plane(plane: Plane) -> bytes:
    names: dict[str, int] = {}
    kinds: dict[str, int] = {}

    def number(table: dict[str, int], text: str) -> int:
        return table.setdefault(text, len(table) + 1)

    def stat(name: str, value: Any) -> bytes:
        head = wire(1, number(names, name))
        if isinstance(value, float):
            return head + varint(2 << 3 | 1) + struct.pack("<d", value)
        if isinstance(value, int):
            return head + (wire(3, value) if value >= 2**63 else wire(4, value))
        if isinstance(value, bytes):
            return head + wire(6, value)
        return head + (wire(7, number(names, value[4:])) if value.startswith("ref:") else wire(5, value))

    def stats(numbered: int, values: dict[str, Any]) -> bytes:
        return b"".join(wire(numbered, stat(name, value)) for name, value in values.items())

    def event(one: Event) -> bytes:
        kind = wire(1, number(kinds, one.name))
        return kind + wire(2, one.offset) + wire(3, one.duration) + stats(4, one.stats)

    lines = b"".join(
        wire(
            3,
            wire(1, line.id)
            + wire(2, line.name)
            + wire(3, line.timestamp)
            + b"".join(wire(4, event(e)) for e in line.events),
        )
        for line in plane.lines
    )
    of_plane = stats(6, plane.stats)
    of_kinds = b"".join(
        wire(4, wire(1, id_) + wire(2, wire(1, id_) + wire(2, name) + stats(5, plane.kinds.get(name, {}))))
        for name, id_ in kinds.items()
    )
    of_names = b"".join(wire(5, wire(1, id_) + wire(2, wire(2, name))) for name, id_ in names.items())
    return wire(1, 7) + wire(2, plane.name) + lines + of_kinds + of_names + of_plane


Span = tuple[int, str, int, int, dict[str, Any]]


def expected_spans(planes: list[Plane]) -> list[Span]:
    """(number of the line, name, start, duration, statistics) of each event, in the order of the file."""
    began = next((p.stats["profile_start_time"] for p in planes if p.name == "Task Environment"), 0)
    found: list[Span] = []
    number = -1
    for plane in planes:
        for line in plane.lines:
            number += 1
            base = line.timestamp if line.timestamp >= began else line.timestamp + began
            for one in line.events:
                start, end = base + one.offset // 1000, base + (one.offset + one.duration) // 1000
                known = {**one.stats, **plane.kinds.get(one.name, {})}
                statistics = {name: _plain(value) for name, value in known.items() if not isinstance(value, bytes)}
                found.append((number, one.name, start, end - start, statistics))
    return found


def _plain(value: Any) -> Any:
    return value.removeprefix("ref:") if isinstance(value, str) else value


def read_spans(trace: Any) -> list[Span]:
    """What the reader made of it, in the same form: the first tracks are the lines."""
    return [
        (row["track"], row["name"], row["start"], row["duration"], json.loads(row["args"] or "{}"))
        for row in trace.spans.to_pylist()
    ]
