"""Fields of the `args` of many spans at once. A cell is one JSON object as text, so a pattern finds its field.

A quoted name inside a text has a backslash before its second quote and is not found.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide.analysis._view import Ints, View

Floats = NDArray[np.float64]
_NUMBER = r"-?[0-9][0-9.eE+-]*"


def arg_numbers(view: View, rows: Ints, key: str) -> Floats:
    """The number of a field in each row; nan where it has none."""
    found = _extract(view, rows, key, f"({_NUMBER})")
    return _numbers(found)


def arg_texts(view: View, rows: Ints, key: str, pattern: str = r'"((?:[^"\\]|\\.)*)"') -> list[str | None]:
    """The first group of the pattern after a field of each row, as written; None where it has none."""
    texts: list[str | None] = _extract(view, rows, key, pattern).to_pylist()
    return texts


def _numbers(found: pa.ChunkedArray) -> Floats:
    values: Floats = pc.cast(found, pa.float64()).fill_null(float("nan")).to_numpy()
    return values


def _extract(view: View, rows: Ints, key: str, pattern: str) -> pa.ChunkedArray:
    """The first group of the pattern after the key, as text; null where the row has no such field."""
    cells = view.trace.spans.column("args").take(pa.array(rows))
    if pa.types.is_null(cells.type) or len(cells) == 0:
        return pa.chunked_array([pa.nulls(len(rows), pa.string())])
    names = iter(range(100))
    named = re.sub(r"\((?!\?)", lambda _: f"(?P<g{next(names)}>", pattern)
    found = pc.extract_regex(cells, f'"{_escaped(key)}"\\s*:\\s*{named}')
    return pa.chunked_array([pc.struct_field(chunk, [0]) for chunk in found.chunks], pa.string())


def _escaped(key: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " _" else f"\\{letter}" for letter in key)
