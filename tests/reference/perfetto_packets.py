"""Perfetto's track events, decoded in plain Python: slices by a stack for each track, in the order of time."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field; a value is a number, or bytes."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == 0:
            value, at = varint(message, at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            yield tag >> 3, message[at : at + 8]
            at += 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(message, at)
            yield tag >> 3, message[at : at + size]
            at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


@dataclass
class Seen:
    spans: list[tuple[str, str, int, int | None]] = field(default_factory=list)
    instants: list[tuple[str, int]] = field(default_factory=list)
    counters: list[tuple[str, int, float]] = field(default_factory=list)


@dataclass
class Sequence:
    names: dict[int, str] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)
    track: int = 0
    now: int = 0


def packets(data: bytes) -> Iterator[bytes]:
    """Each packet, and where one holds others compressed, those."""
    for _, packet in fields(data):
        held = dict(fields(packet)).get(50)
        yield from [packet] if held is None else packets(zlib.decompress(held))


def read(data: bytes) -> Seen:
    """Everything on every track; all our sequences count time from the packet before."""
    sequences: dict[int, Sequence] = {}
    tracks: dict[int, str] = {}
    happened: list[tuple[int, int, int, str, str, float]] = []  # time, type, track, name, category, value
    for packet in packets(data):
        parts = dict(fields(packet))
        if 60 in parts:
            descriptor = dict(fields(parts[60]))
            tracks[descriptor[1]] = descriptor.get(2, b"").decode()
        if 10 not in parts:
            continue
        sequence = sequences.setdefault(parts[10], Sequence())
        if 59 in parts:
            sequence.track = dict(fields(dict(fields(parts[59]))[11]))[11]
        if 6 in parts:
            clocks = [dict(fields(clock)) for _, clock in fields(parts[6])]
            sequence.now = next(clock[2] for clock in clocks if clock[1] == 64)
        for number, entry in fields(parts.get(12, b"")):
            entry_fields = dict(fields(entry))
            if number in {1, 2}:
                (sequence.categories if number == 1 else sequence.names)[entry_fields[1]] = entry_fields[2].decode()
        if 11 in parts:
            event = dict(fields(parts[11]))
            sequence.now += parts[8]
            value = float(event.get(30, 0)) if 44 not in event else struct.unpack("<d", event[44])[0]
            name = sequence.names.get(event.get(10, 0), "")
            category = sequence.categories.get(event.get(3, 0), "")
            happened.append((sequence.now, event[9], sequence.track, name, category, value))
    return _pair(happened, tracks)


def _pair(happened: list[tuple[int, int, int, str, str, float]], tracks: dict[int, str]) -> Seen:
    seen = Seen()
    open_: dict[int, list[tuple[str, str, int]]] = {}
    for time, kind, track, name, category, value in sorted(happened, key=lambda one: one[0]):
        if kind == 1:
            open_.setdefault(track, []).append((name, category, time))
        elif kind == 2:
            outer, its, start = open_[track].pop()
            seen.spans.append((outer, its, start, time - start))
        elif kind == 3:
            seen.instants.append((name, time))
        else:
            seen.counters.append((tracks[track], time, value))
    for left in open_.values():
        seen.spans += [(name, category, start, None) for name, category, start in left]
    return seen
