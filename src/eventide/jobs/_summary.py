"""The work of one rank by name and shape: what a slow rank is compared by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.analysis import View, summary
from eventide.jobs._schema import SUMMARY

_HOST_ROWS = 200


def summary_of(view: View) -> pa.Table:
    """Work of devices by name and shape; of a rank without a device, what its host did."""
    rows = np.flatnonzero(view.bits)
    if len(rows) == 0:
        host = summary(view).host[:_HOST_ROWS]
        return pa.Table.from_pylist(
            [{name: getattr(row, name, None) for name in SUMMARY.names} for row in host], SUMMARY
        )
    grid, grids = _grids(view, rows)
    key = (view.name[rows] * len(view.categories) + view.category[rows]) * len(grids) + grid
    length = view.duration[rows]
    order = np.lexsort((length, key))
    length, first = length[order], np.flatnonzero(np.diff(key[order], prepend=-1))
    count = np.diff(np.append(first, len(order)))
    span = rows[order[first]]
    columns = {
        "name": [view.word(row) for row in span.tolist()],
        "category": [view.category_of(row) for row in span.tolist()],
        "grid": [grids[code] for code in grid[order[first]].tolist()],
        "count": count,
        "total": np.add.reduceat(length, first),
        "median": (length[first + (count - 1) // 2] + length[first + count // 2]) // 2,
    }
    table = pa.table([pa.array(columns[field.name], field.type) for field in SUMMARY], schema=SUMMARY)
    return table.sort_by([("total", "descending"), ("name", "ascending"), ("grid", "ascending")])


def _grids(view: View, rows: Any) -> tuple[Any, list[str | None]]:
    """The number of the grid of each of these spans, and the grids; None is one."""
    args = view.trace.spans.column("args").take(pa.array(rows))
    found = pc.struct_field(pc.extract_regex(args, r'"grid":\s*(?P<grid>\[[^\]]*\])'), "grid")
    codes = pc.replace_substring_regex(found.combine_chunks(), r"\s+", "").dictionary_encode()
    grids = [*codes.dictionary.to_pylist(), None]
    return pc.fill_null(codes.indices, len(grids) - 1).to_numpy().astype(np.int64), grids
