"""Collectives of torch.distributed: annotations become spans of communication, with the records of torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BACKENDS = r"^(gloo|mpi|ucc):"  # of the host; a collective of NCCL is work of a device, and its annotation the launch
_NEAREST_NS = 50_000_000  # between torch's record of a collective and the start of its span
_SIZES = {"Double": 8, "Long": 8, "ComplexFloat": 8, "ComplexDouble": 16, "Float": 4, "Int": 4, "Half": 2,
          "BFloat16": 2, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1}  # fmt: skip


def with_collectives(spans: pa.Table, records: object, offset: int) -> pa.Table:
    """The spans, with collectives of the host in the category communication. `records` may be those of torch.

    `offset` is added to their Unix times.
    """
    if not spans.num_rows or not _any_collective(spans):
        return spans
    name = pc.cast(spans.column("name"), "string")
    mask = pc.and_(
        pc.match_substring_regex(name, _BACKENDS), pc.equal(pc.cast(spans.column("category"), "string"), "annotation")
    )
    rows = np.flatnonzero(mask.to_numpy())
    category = pc.if_else(mask, "communication", pc.cast(spans.column("category"), "string"))
    spans = _replaced(spans, "category", category)
    if not isinstance(records, list) or not len(rows):
        return spans
    args = spans.column("args").to_pylist()
    starts = spans.column("start").to_numpy()
    for row, about in _matched(rows, name.take(pa.array(rows)).to_pylist(), starts, records, offset):
        args[row] = json.dumps({**json.loads(args[row] or "{}"), **about, "bytes": _bytes(about)})
    return _replaced(spans, "args", pa.array(args, pa.string()))


def _any_collective(spans: pa.Table) -> bool:
    """A look at the names, which are few."""
    names = pa.chunked_array([chunk.dictionary for chunk in spans.column("name").chunks])
    return bool(pc.any(pc.match_substring_regex(names, _BACKENDS)).as_py())


def _replaced(spans: pa.Table, column: str, values: Any) -> pa.Table:
    index = spans.schema.get_field_index(column)
    kind = spans.schema.field(index)
    if pa.types.is_dictionary(kind.type):
        values = pc.dictionary_encode(values)
    return spans.set_column(index, kind, values.cast(kind.type))


def _matched(
    rows: Any, names: list[str], starts: Any, records: list[Any], offset: int
) -> list[tuple[int, dict[str, Any]]]:
    """(row, arguments): each record belongs to the span of its name that starts nearest to it."""
    by_name: dict[str, list[int]] = {}
    for row, name in zip(rows.tolist(), names, strict=True):
        by_name.setdefault(name, []).append(row)
    taken: dict[int, tuple[int, dict[str, Any]]] = {}  # by row: distance, arguments
    for record in records:
        if not isinstance(record, dict) or not isinstance(record.get("args"), dict):
            continue
        own = np.array(by_name.get(str(record.get("name")), ()), np.int64)
        if not len(own) or not isinstance(record.get("unix_ns"), int):
            continue
        distances = np.abs(starts[own] - (record["unix_ns"] + offset))
        best = int(np.argmin(distances))
        row, distance = int(own[best]), int(distances[best])
        if distance < _NEAREST_NS and (row not in taken or distance < taken[row][0]):
            taken[row] = (distance, record["args"])
    return [(row, about) for row, (_, about) in taken.items()]


def _bytes(about: Mapping[str, Any]) -> int | None:
    """Of the larger side; None for a type of unknown size."""
    size = _SIZES.get(str(about.get("dtype")))
    counts = [about.get(key) for key in ("In msg nelems", "Out msg nelems")]
    known = [count for count in counts if isinstance(count, int)]
    return size * max(known) if size is not None and known else None
