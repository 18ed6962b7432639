"""Columns of the native reader as Arrow arrays: numbers of names and of stacks, nulls, texts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eventide.trace._schema import FRAME

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Pair = tuple[Ints, npt.NDArray[np.uint8]]  # offsets and bytes of texts
ABSENT = -(2**63)


def texts(pair: Pair) -> list[str]:
    """Strings from offsets and bytes."""
    offsets, data = pair[0].tolist(), pair[1].tobytes()
    return [data[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]


def words(pair: Pair) -> pa.Array:
    """The same as a column, without an object for each."""
    parts = [None, pa.py_buffer(pair[0]), pa.py_buffer(pair[1])]
    array = pa.Array.from_buffers(pa.large_string(), len(pair[0]) - 1, parts)
    try:
        array.validate(full=True)
        return array.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        return pa.array(texts(pair), pa.string())


def strings(pair: Pair) -> pa.Array:
    """A column of strings; an empty one is null."""
    rows = len(pair[0]) - 1
    filled = np.diff(pair[0]) > 0
    if not filled.any():
        return pa.nulls(rows, pa.string())
    valid = pa.py_buffer(np.packbits(filled, bitorder="little"))
    array = pa.Array.from_buffers(pa.large_string(), rows, [valid, pa.py_buffer(pair[0]), pa.py_buffer(pair[1])])
    return array.cast(pa.string()) if len(pair[1]) < 2**31 else array


def optional(values: npt.NDArray[Any], none: int = ABSENT) -> pa.Array:
    """Numbers; `none` is null."""
    missing = values == none
    number = np.count_nonzero(missing)
    if number == len(values):
        return pa.nulls(len(values), pa.from_numpy_dtype(values.dtype))
    return pa.array(values, mask=missing if number else None)


class Names:
    """Texts by their number, from 1; 0 means none."""

    def __init__(self, known: Pair, lost: bool) -> None:
        self._nameless = "(name not kept)" if lost else ""
        # At 0 and after the last: the replacement for a missing name.
        missing = pa.array([self._nameless], pa.string())
        self._words = pa.concat_arrays([missing, words(known), missing])

    def __getitem__(self, number: int) -> str:
        return self._words[number].as_py() if 0 < number < len(self._words) else self._nameless

    def inside(self, numbers: Codes) -> npt.NDArray[Any]:
        """The same numbers; those without a name become one after the last."""
        return np.minimum(numbers.view(np.uint32), np.uint32(len(self._words) - 1))

    def strings(self, numbers: Codes) -> pa.Array:
        """The texts themselves."""
        return self._words.take(pa.array(self.inside(numbers)))

    def codes(self, numbers: Codes) -> tuple[Codes, Codes]:
        """The numbers that occur, in order, and for each row its place among them."""
        inside = self.inside(numbers).astype(np.intp)  # the only type of index that numpy uses without a conversion
        place = np.zeros(len(self._words), np.int32)
        place[inside] = 1
        used = np.flatnonzero(place).astype(np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        return used, place[inside]

    def column(self, numbers: Codes, *, null: bool, default: str | None = None) -> pa.Array:
        """Dictionary-encoded; the number 0 is null, `default`, or the replacement for a missing name."""
        if null and not numbers.any():
            return pa.nulls(len(numbers), pa.dictionary(pa.int32(), pa.string()))
        used, codes = self.codes(numbers)
        words = self.strings(used)
        if default is not None and len(used) and not used[0]:
            words = pa.concat_arrays([pa.array([default], pa.string()), words[1:]])
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=numbers == 0 if null else None), words)


class Stacks:
    """The table of stacks, and its row for each number of the process."""

    def __init__(self, found: dict[str, Any], names: Names) -> None:
        parts = {
            "file": names.strings(found["file"]),
            "line": pa.array(found["line"]),
            "function": names.strings(found["function"]),
        }
        frames = pa.StructArray.from_arrays([parts[field.name] for field in FRAME], fields=list(FRAME))
        self.table = {"frames": pa.ListArray.from_arrays(pa.array(found["offsets"]), frames)}
        self._numbers: Codes = found["number"]  # ascending; a damaged file may have large gaps

    def column(self, numbers: Codes) -> pa.Array:
        """The rows; null for none."""
        if not numbers.any() or not len(self._numbers):
            return pa.nulls(len(numbers), pa.int32())
        rows = np.searchsorted(self._numbers, numbers).astype(np.int32)
        missing = self._numbers[np.minimum(rows, len(self._numbers) - 1)] != numbers
        return pa.array(rows, mask=missing)


def parsed(text: bytes) -> dict[str, Any]:
    """A JSON object; an empty one if there is none."""
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {}
