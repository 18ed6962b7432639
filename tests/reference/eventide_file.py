"""Reads .eventide files in plain Python, from what codec.hpp and record.hpp of native/core/tracefile say alone."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD, NAMES, CHUNK, ANCHOR, NOTE, END = range(1, 7)
BEGIN, ENDED, INSTANT, COUNTER, SPAN, EDGE, HOOK = range(1, 8)
PAYLOAD, NAME, A, B = 16, 32, 64, 128


@dataclass(frozen=True)
class Thing:
    track: int
    kind: int
    stamp: int
    name: int
    a: Any  # of a counter: its value
    b: int
    payload: bytes


@dataclass
class File:
    head: dict[str, Any] = field(default_factory=dict)
    account: dict[str, Any] | None = None
    notes: list[Any] = field(default_factory=list)
    anchors: list[tuple[int, int, int]] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    tracks: dict[int, Any] = field(default_factory=dict)
    stacks: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    things: list[Thing] = field(default_factory=list)

    def of(self, kind: int) -> list[Thing]:
        return [thing for thing in self.things if thing.kind == kind]

    def arguments(self, payload: bytes) -> dict[str, Any]:
        """The arguments of a begin or an instant."""
        bytes_ = Bytes(payload)
        out: dict[str, Any] = {}
        while bytes_.left():
            key, kind = self.texts.get(bytes_.varint(), "?"), bytes_.byte()
            if kind == 3:
                out[key] = bytes_.signed()
            elif kind == 4:
                out[key] = struct.unpack("<d", bytes_.take(8))[0]
            elif kind in {5, 7}:
                out[key] = bytes_.take(bytes_.varint()).decode()
            elif kind == 6:
                out[key] = json.loads(bytes_.take(bytes_.varint()))
            else:
                out[key] = {0: None, 1: False, 2: True}[kind]
        return out


class Bytes:
    """A reader with a position."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def left(self) -> bool:
        return self.at < len(self.data)

    def take(self, n: int) -> bytes:
        assert self.at + n <= len(self.data), "the bytes end too early"
        self.at += n
        return self.data[self.at - n : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value & (2**64 - 1)

    def signed(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def wrapped(value: int) -> int:
    """Differences are taken in 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


def read(path: Path) -> File:
    """The file up to its first frame that is not whole."""
    data = path.read_bytes()
    assert data[:8] == b"EVENTIDE"
    assert struct.unpack_from("<I", data, 8) == (1,)
    out, at = File(), 12
    while at + 12 <= len(data):
        kind, size, crc = struct.unpack_from("<3I", data, at)
        payload = data[at + 12 : at + 12 + size]
        if len(payload) < size or zlib.crc32(payload) != crc:
            break
        at += 12 + size
        if kind == HEAD:
            out.head = json.loads(payload)
        elif kind == NAMES:
            read_names(out, Bytes(payload[8:]))
        elif kind == CHUNK:
            read_chunk(out, Bytes(payload))
        elif kind == ANCHOR:
            out.anchors.append(struct.unpack("<Qqq", payload))
        elif kind == NOTE:
            out.notes.append(json.loads(payload))
        elif kind == END:
            out.account = json.loads(payload)
    return out


def read_names(out: File, bytes_: Bytes) -> None:
    while bytes_.left():
        kind, number = bytes_.byte(), bytes_.varint()
        text = bytes_.take(bytes_.varint())
        if kind == 1:
            out.texts[number] = text.decode()
        elif kind == 2:
            out.tracks[number] = json.loads(text)
        else:
            frames = Bytes(text)
            out.stacks[number] = []
            while frames.left():
                out.stacks[number].append((frames.varint(), frames.varint(), frames.varint()))


def read_chunk(out: File, bytes_: Bytes) -> None:
    bytes_.varint()  # the serial
    track, count = bytes_.varint(), bytes_.varint()
    (stamp,) = struct.unpack("<Q", bytes_.take(8))
    time, span, open_ = 0, 0, list[int]()
    for _ in range(count):
        tag = bytes_.byte()
        kind = tag & 15
        stamp += bytes_.signed()
        name = bytes_.varint() if tag & NAME else 0
        a: Any = 0
        b = 0
        if kind == BEGIN:
            span = a = bytes_.varint() if tag & A else span + 1
            b = bytes_.varint() if tag & B else 0
            open_.append(a)
        elif kind == ENDED:
            a = bytes_.varint() if tag & A else (open_[-1] if open_ else 0)
            b = bytes_.varint() if tag & B else track
            if a in open_:
                del open_[len(open_) - 1 - open_[::-1].index(a)]
        elif kind == COUNTER:
            a = struct.unpack("<d", bytes_.take(8))[0] if tag & A else float(bytes_.signed())
            b = bytes_.varint() if tag & B else 0
        elif kind in {INSTANT, HOOK}:
            a = bytes_.varint() if tag & A else 0
            if kind == HOOK and tag & B:
                time = b = wrapped(time + bytes_.signed())
            elif tag & B:
                b = bytes_.varint()
        else:
            if tag & A:
                time = a = wrapped(time + bytes_.signed())
            b = wrapped(a + bytes_.signed()) if tag & B else 0
        payload = bytes_.take(bytes_.varint()) if tag & PAYLOAD else b""
        out.things.append(Thing(track, kind, stamp, name, a, b, payload))
    assert not bytes_.left()
