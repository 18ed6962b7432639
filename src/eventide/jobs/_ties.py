"""What ties the clocks of ranks beside their collectives: messages that our recorder exchanged, and a shared clock.

A message is a send and its receive, so it bounds the clocks as a collective does. Ranks of one host that our recorder
recorded read one clock: no time passes between a moment on one of them and the same moment on another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from eventide.jobs._job import Job
from eventide.jobs._match import PROVIDES, RECEIVES, Ints, Matched


@dataclass(frozen=True)
class Tied:
    """The rows of the collectives and of the ties, by rank and start; `own` are those of the collectives."""

    rows: Matched
    own: Ints


@dataclass
class _Rows:
    """Ties in the making."""

    kinds: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    columns: list[tuple[int, int, int, int]] = field(default_factory=list)  # rank (index), tie, time, role

    def add(self, kind: str, key: str, members: list[tuple[int, int, int]]) -> None:
        """`members`: rank (index), time, role."""
        self.columns += [(rank, len(self.keys), time, role) for rank, time, role in members]
        self.kinds.append(kind)
        self.keys.append(key)


def with_ties(job: Job, found: Matched) -> Tied:
    """The collectives and all other ties of the clocks."""
    rows = _Rows()
    _shared_clocks(job, found, rows)
    _messages(job, found, rows)
    return joined(found, rows) if rows.keys else Tied(found, np.arange(len(found)))


def _shared_clocks(job: Job, found: Matched, rows: _Rows) -> None:
    members: dict[str, list[int]] = {}
    for index, rank in enumerate(job.ranks):
        if rank.identity is not None:
            members.setdefault(rank.identity, []).append(index)
    for some in members.values():
        if len(some) < 2:
            continue
        who = f"ranks {found.ranks[some[0]]} to {found.ranks[some[-1]]}"
        times = [time for index in some for time in (job.ranks[index].first, job.ranks[index].last)]
        for word, time in (("begin", min(times)), ("end", max(times))):
            rows.add("the clock of one host", f"{who}, {word}", [(one, time, PROVIDES | RECEIVES) for one in some])


def _messages(job: Job, found: Matched, rows: _Rows) -> None:
    index = {rank: number for number, rank in enumerate(found.ranks)}
    for number, pair in enumerate(job.table("clock_pairs").to_pylist(), 1):
        if pair["peer"] not in index:
            continue
        one, other = index[pair["rank"]], index[pair["peer"]]
        who = f"{number} of ranks {pair['rank']} and {pair['peer']}"
        rows.add("a message", f"question {who}", [(one, pair["sent"], PROVIDES), (other, pair["received"], RECEIVES)])
        rows.add("a message", f"answer {who}", [(other, pair["answered"], PROVIDES), (one, pair["returned"], RECEIVES)])


def joined(found: Matched, rows: _Rows) -> Tied:
    """Both, sorted by rank and start."""
    rank, tie, time, role = np.array(rows.columns, np.int64).T
    none = (None,) * len(rows.keys)
    unknown = np.full(len(rank), -1, np.int64)
    columns = {
        "rank": np.concatenate([found.rank, rank]),
        "collective": np.concatenate([found.collective, tie + len(found.keys)]),
        "start": np.concatenate([found.start, time]),
        "end": np.concatenate([found.end, time]),
        "bytes": np.concatenate([found.bytes, unknown]),
        "role": np.concatenate([found.role, role.astype(np.uint8)]),
        "row": np.concatenate([found.row, unknown]),
    }
    order = np.lexsort((columns["start"], columns["rank"]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    whole = replace(
        found,
        **{name: column[order] for name, column in columns.items()},
        keys=(*found.keys, *rows.keys),
        kinds=(*found.kinds, *rows.kinds),
        groups=(*found.groups, *none),
        steps=(*found.steps, *none),
    )
    return Tied(whole, place[: len(found)])
