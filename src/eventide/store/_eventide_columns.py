"""Bytes of the native reader as numpy and Arrow columns."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
ABSENT = -(2**63)

_WIDE = {
    "start",
    "end",
    "submit",
    "cpu",
    "work",
    "correlation",
    "time",
    "from_time",
    "to_time",
    "event",
    "version",
    "stream",
    "finish",
    "waited",
    "access_offsets",
}
_UNSIGNED = {"handle", "bytes", "access_address", "access_bytes", "access_run", "access_stride"}
_BYTES = {"access_write", "access_possible"}


def arrays(columns: dict[str, Any], narrow: tuple[str, ...] = ()) -> dict[str, Any]:
    """Each column as a numpy array; text columns stay (offsets, bytes). `narrow`: 32 bits against the usual."""
    out: dict[str, Any] = {}
    for name, raw in columns.items():
        if isinstance(raw, tuple):
            out[name] = raw
        elif name == "value":
            out[name] = np.frombuffer(raw, np.float64)
        elif name in _UNSIGNED:
            out[name] = np.frombuffer(raw, np.uint64)
        elif name in _BYTES:
            out[name] = np.frombuffer(raw, np.uint8).astype(bool)
        elif name in _WIDE and name not in narrow:
            out[name] = np.frombuffer(raw, np.int64)
        else:
            out[name] = np.frombuffer(raw, np.int32).astype(np.int64)
    return out


def texts(pair: tuple[bytes, bytes]) -> list[str]:
    """Strings from their ends and their bytes."""
    offsets, data = np.frombuffer(pair[0], np.int64).tolist(), pair[1]
    return [data[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]


def strings(pair: tuple[bytes, bytes]) -> pa.Array:
    """A column of strings; an empty one is null."""
    offsets = np.frombuffer(pair[0], np.int64)
    rows = len(offsets) - 1
    filled = np.diff(offsets) > 0
    valid = pa.py_buffer(np.packbits(filled, bitorder="little").tobytes())
    array = pa.Array.from_buffers(pa.large_string(), rows, [valid, pa.py_buffer(pair[0]), pa.py_buffer(pair[1])])
    return array.cast(pa.string()) if len(pair[1]) < 2**31 else array


def optional(values: Ints, none: int = ABSENT) -> pa.Array:
    """Numbers; `none` is null."""
    return pa.array(values, mask=values == none)


class Names:
    """Texts by their number, from 1; 0 is none."""

    def __init__(self, known: list[str], lost: bool) -> None:
        self._known = known
        self._nameless = "(name not kept)" if lost else ""

    def __getitem__(self, number: int) -> str:
        return self._known[number - 1] if 0 < number <= len(self._known) else self._nameless

    def column(self, numbers: Ints, *, null: bool, default: str | None = None) -> pa.Array:
        """Dictionary-encoded; of the number 0 null, or `default`, or what stands for a name that is not there."""
        used, codes = np.unique(numbers, return_inverse=True)
        words = [default if default is not None and number == 0 else self[int(number)] for number in used.tolist()]
        mask = numbers == 0 if null else None
        indices = pa.array(codes.astype(np.int32), mask=mask)
        return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def parsed(text: bytes) -> dict[str, Any]:
    """A JSON object; an empty one where there is none."""
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {}
