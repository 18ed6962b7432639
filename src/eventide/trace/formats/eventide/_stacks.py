"""The stacks of a recording: the table, and the process's own numbers as its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide.trace._schema import FRAME
from eventide.trace.formats.eventide._columns import Codes, Names


class Stacks:
    """Rows of the table by the numbers that the process gave."""

    def __init__(self, found: dict[str, Any], names: Names) -> None:
        parts = {
            "file": names.strings(found["file"]),
            "line": pa.array(found["line"]),
            "function": names.strings(found["function"]),
        }
        frames = pa.StructArray.from_arrays([parts[field.name] for field in FRAME], fields=list(FRAME))
        self.table = {"frames": pa.ListArray.from_arrays(pa.array(found["offsets"]), frames)}
        self._numbers: Codes = found["number"]  # ascending; a strange file may have large gaps

    def column(self, numbers: Codes) -> pa.Array:
        """The rows; null where there is none."""
        if not numbers.any() or not len(self._numbers):
            return pa.nulls(len(numbers), pa.int32())
        rows = np.searchsorted(self._numbers, numbers).astype(np.int32)
        missing = self._numbers[np.minimum(rows, len(self._numbers) - 1)] != numbers
        return pa.array(rows, mask=missing)
