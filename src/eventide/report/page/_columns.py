"""Columns of numbers as deflated byte planes: what the page stores its spans in.

A column of non-negative integers of width w is w planes of one byte a row, the lowest byte first; a column of doubles
has eight planes, and its width is -8. The planes of all columns are concatenated and deflated without a header; the
page reads them with DecompressionStream("deflate-raw").
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
LEVEL = 6


@dataclass(frozen=True)
class Block:
    """Encoded columns: base64 of the deflated planes, the number of rows and the width of each column."""

    text: str
    rows: int
    widths: tuple[int, ...]


def encode(columns: Sequence[Ints | NDArray[np.float64]]) -> Block:
    """Encode columns of equal length."""
    planes = []
    widths = []
    for column in columns:
        real = column.dtype.kind == "f"
        width = 8 if real else _width(int(column.max(initial=0)))
        raw = np.ascontiguousarray(column, dtype="<f8" if real else "<i8").view(np.uint8).reshape(-1, 8)
        planes.append(np.ascontiguousarray(raw[:, :width].T).tobytes())
        widths.append(-8 if real else width)
    return Block(pack(b"".join(planes)), len(columns[0]) if columns else 0, tuple(widths))


def pack(raw: bytes) -> str:
    """Deflated without a header, as base64."""
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(raw) + deflate.flush()).decode("ascii")


def zigzag(values: Ints) -> Ints:
    """Signed as non-negative integers: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return (values << 1) ^ (values >> 63)


def _width(largest: int) -> int:
    return max((largest.bit_length() + 7) // 8, 1)
