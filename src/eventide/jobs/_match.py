"""Which collectives of different ranks are one: those with one key. What contradicts itself is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eventide._util import format as f
from eventide.errors import UsageValueError
from eventide.jobs._job import Job

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PROVIDES, RECEIVES = 1, 2


@dataclass(frozen=True)
class Matched:
    """The rows of all collectives that two ranks or more have, by rank and start. Times: each rank's own clock."""

    ranks: tuple[int, ...]  # of the job
    rank: Ints  # index of `ranks`
    collective: Ints  # index of `keys`
    keys: tuple[str, ...]
    kinds: tuple[str | None, ...]  # of each key
    groups: tuple[str | None, ...]
    steps: tuple[str | None, ...]
    start: Ints
    end: Ints
    bytes: Ints  # -1: not known
    role: NDArray[np.uint8]  # PROVIDES | RECEIVES
    row: Ints  # of Job.collectives
    alone: int  # rows whose key no other rank has
    by_order: int  # keys that are an order: a guess, which the clocks check

    def __len__(self) -> int:
        return len(self.rank)

    def name(self, collective: int) -> str:
        """all_reduce (stream 1, ProfilerStep#10, 5)."""
        return f"{self.kinds[collective] or 'a collective'} ({self.keys[collective]})"


def match(job: Job) -> Matched:
    """Match by key. UsageValueError if two ranks have different kinds of collectives under one key."""
    table = job.collectives
    ranks = tuple(each.rank for each in job.ranks)
    rank = np.searchsorted(np.array(ranks), table.column("rank").to_numpy()).astype(np.int64)
    start = table.column("start").to_numpy().astype(np.int64)
    order = np.lexsort((table.column("end").to_numpy(), start, rank))
    keys = table.column("key").dictionary_encode().combine_chunks()
    words = keys.dictionary.to_pylist() if len(table) else []
    code = keys.indices.to_numpy().astype(np.int64) if len(table) else np.empty(0, np.int64)
    shared = np.bincount(code, minlength=len(words)) > 1  # a rank has each key once
    rows = order[shared[code[order]]] if len(table) else order.astype(np.int64)
    used, collective = np.unique(code[rows], return_inverse=True)
    found = table.take(rows)
    first = np.full(len(used), len(rows), np.int64)
    np.minimum.at(first, collective, np.arange(len(rows)))
    provides, receives = (
        found.column(name).to_numpy(zero_copy_only=False).astype(np.uint8) for name in ("provides", "receives")
    )
    _refuse_kinds(found, collective, [words[each] for each in used.tolist()])

    def of_key(name: str) -> tuple[str | None, ...]:
        return tuple(found.column(name).take(first).to_pylist())

    return Matched(
        ranks,
        rank[rows],
        collective.astype(np.int64),
        tuple(words[each] for each in used.tolist()),
        of_key("kind"),
        of_key("group"),
        of_key("step"),
        start[rows],
        found.column("end").to_numpy().astype(np.int64),
        pc.fill_null(found.column("bytes"), -1).to_numpy().astype(np.int64),
        provides * PROVIDES + receives * RECEIVES,
        rows.astype(np.int64),
        len(table) - len(rows),
        of_key("how").count("order"),
    )


def _refuse_kinds(found: pa.Table, collective: Ints, keys: list[str]) -> None:
    kinds = found.column("kind").dictionary_encode().combine_chunks()
    names = kinds.dictionary.to_pylist()
    code = pc.fill_null(kinds.indices, -1).to_numpy().astype(np.int64)
    known = np.flatnonzero(code >= 0)
    first = np.full(len(keys), len(code), np.int64)
    np.minimum.at(first, collective[known], known)
    other = first[collective[known]]
    differ = code[known] != code[other]
    for row, one in zip(known[differ].tolist(), other[differ].tolist(), strict=True):
        kind, other_kind = names[code[row]], names[code[one]]
        if {kind, other_kind} != {"send", "recv"}:
            rank, other_rank = (found.column("rank")[each].as_py() for each in (row, one))
            raise UsageValueError(
                f"the collectives of ranks {other_rank} and {rank} do not fit: {keys[collective[row]]!r} is "
                f"{other_kind} on rank {other_rank} and {kind} on rank {rank}; {REMEDY}"
            )


REMEDY = (
    "they are of different runs, or events are missing from a trace (cut, filtered, or recorded from another step on). "
    'Give whole traces of one run, if possible with Kineto\'s "Comms Id" (torch 2.10 and later)'
)


def contradiction(found: Matched, pair: tuple[int, int], both: tuple[int, int], by: float) -> UsageValueError:
    """The error for two ranks (indexes) for which two collectives demand different offsets of their clocks."""
    a, b = (found.ranks[each] for each in pair)
    low, high = both
    return UsageValueError(
        f"the collectives of ranks {a} and {b} do not fit: no offset of their clocks satisfies both {found.name(low)} "
        f"and {found.name(high)}; {f.time(by)} are missing. {REMEDY[0].upper()}{REMEDY[1:]}"
    )
