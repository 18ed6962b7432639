"""From the core's numpy columns to Arrow, without a copy where the layout allows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NONE = np.iinfo(np.int64).min  # the core's null

Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Strings:
    """The texts that the core has interned, by number."""

    def __init__(self, ends: Ints, texts: npt.NDArray[np.uint8]) -> None:
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        self.array = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(texts))

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, number: int) -> str:
        return str(self.array[int(number)].as_py())

    def used(self, numbers: Ids) -> dict[int, str]:
        """Each number that occurs, with its text."""
        seen = self._seen(numbers)
        return dict(zip(seen.tolist(), self.array.take(pa.array(seen)).to_pylist(), strict=True))

    def dictionary(self, numbers: Ids) -> pa.DictionaryArray:
        """The texts as a dictionary column; the dictionary has only those that occur."""
        seen = self._seen(numbers)
        position = np.zeros(len(self) + 1, np.int32)
        position[seen] = np.arange(len(seen), dtype=np.int32)
        texts = self.array.take(pa.array(seen)).cast(pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(position[numbers]), texts)

    def _seen(self, numbers: Ids) -> npt.NDArray[np.int64]:
        mask = np.zeros(len(self), np.bool_)
        mask[numbers] = True
        return np.flatnonzero(mask)


def integers(values: npt.NDArray[Any], rows: int, null: int = NONE) -> pa.Array:
    """A column of integers with a number for null; an empty column is all null."""
    kind = pa.from_numpy_dtype(values.dtype)
    if len(values) != rows:
        return pa.nulls(rows, kind)
    return pa.Array.from_buffers(kind, rows, [_validity(values != null), pa.py_buffer(values)])


def texts(chunks: Iterable[tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]]) -> pa.ChunkedArray:
    """A column of texts; an empty one is null."""
    arrays = []
    for offsets, data in chunks:
        valid = _validity(offsets[1:] != offsets[:-1])
        arrays.append(pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data), valid))
    return pa.chunked_array(arrays, pa.string())


def words(numbers: npt.NDArray[np.int8], vocabulary: list[str]) -> pa.DictionaryArray:
    """A dictionary column over a fixed list of words, which are all kept."""
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(vocabulary, pa.string()))


def first_of_each(groups: npt.NDArray[Any], size: int) -> Ints:
    """The position of the first row of each group; -1 for an empty group."""
    first = np.full(size, -1, np.int64)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    return first


def _validity(valid: Mask) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
