"""Reads a report page in plain Python: the index and the spans that its blocks hold."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

_BLOCK = re.compile(r'<script type="application/octet-stream" id="b(\d+)">([A-Za-z0-9+/=]*)</script>')
_INDEX = re.compile(r'<script type="application/json" id="index">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Page:
    """`spans` are (track, depth, start, end, name, kind, args), on the clock of the trace."""

    index: dict[str, Any]
    spans: list[tuple[int, int, int, int, str, str, str]]
    edges: set[tuple[str, bool, int, int, int, int]]  # kind, incoming, lane, start, other lane, other start
    gaps: list[tuple[int, int, int]]  # of devices: start from the page's, duration, cause


def read_page(text: str) -> Page:
    found = _INDEX.search(text)
    assert found is not None
    index = json.loads(found[1])
    blocks = {int(number): block for number, block in _BLOCK.findall(text)}
    spans: list[tuple[int, int, int, int, str, str, str]] = []
    edges: set[tuple[str, bool, int, int, int, int]] = set()
    for number, lane in enumerate(index["lanes"]):
        for tile in lane["tiles"]:
            starts = _read_tile(index, lane, tile, blocks, spans)
            edges |= _read_edges(index, number, tile, blocks, starts)
    return Page(index, spans, edges, _read_gaps(index, blocks))


def _read_gaps(index: dict[str, Any], blocks: dict[int, str]) -> list[tuple[int, int, int]]:
    found = []
    for each in index["gaps"]:
        rows, last = each["rows"], 0
        for gap, duration, cause in zip(*columns(inflate(blocks[rows["b"]]), rows["n"], rows["w"]), strict=True):
            if not each["stream"]:
                found.append((last + gap, duration, cause))
            last += gap + duration
    return found


def _read_tile(
    index: dict[str, Any], lane: dict[str, Any], tile: dict[str, Any], blocks: dict[int, str], spans: list[Any]
) -> list[int]:
    gaps, durations, labels, _ = columns(inflate(blocks[tile["b"]]), tile["n"], tile["w"])
    args = inflate(blocks[tile["a"]]).decode().split("\n") if "a" in tile else [""] * tile["n"]
    origin, grid = int(index["origin"]), index["grid"]
    last, starts = tile["t"], []
    for gap, duration, label, arguments in zip(gaps, durations, labels, args, strict=True):
        start = last + gap
        last = max(last, start + duration)
        name, kind = index["labels"][label]
        starts.append(start * grid + origin)
        end = (start + duration) * grid + origin
        spans.append(
            (lane["track"], lane["depth"], starts[-1], end, index["names"][name], index["kinds"][kind], arguments)
        )
    return starts


def _read_edges(
    index: dict[str, Any], lane: int, tile: dict[str, Any], blocks: dict[int, str], starts: list[int]
) -> set[tuple[str, bool, int, int, int, int]]:
    if "x" not in tile:
        return set()
    found, at = set(), 0
    for step, what, other, time in zip(*columns(inflate(blocks[tile["x"]]), tile["en"], tile["ew"]), strict=True):
        at += step
        signed = -(time + 1) // 2 if time % 2 else time // 2
        found.add(
            (index["edges"][what // 2], what % 2 == 1, lane, starts[at], other, starts[at] + signed * index["grid"])
        )
    return found


def inflate(block: str) -> bytes:
    return zlib.decompress(base64.b64decode(block), -15)


def columns(raw: bytes, rows: int, widths: list[int]) -> list[list[int]]:
    """The columns of a block, row by row."""
    found, at = [], 0
    for width in widths:
        found.append(
            [sum(raw[at + plane * rows + row] << (8 * plane) for plane in range(width)) for row in range(rows)]
        )
        at += width * rows
    return found
