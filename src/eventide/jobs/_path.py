"""The critical path across ranks: from the end of the job back, at each collective to the rank that was last."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eventide.jobs._operations import BEGIN, JobOperations
from eventide.jobs._replay import Ints, Replay
from eventide.jobs._waiting import Waiting


@dataclass(frozen=True)
class PathPiece:
    """One operation on the path; nanoseconds since the begin of the recording."""

    rank: int
    operation: str
    start: float
    end: float


@dataclass(frozen=True)
class PathShare:
    """A rank and a kind of operation: their time on the path."""

    rank: int
    operation: str
    time: float
    count: int


@dataclass(frozen=True)
class JobPath:
    """Pieces by time, without gaps: they sum to `length`. It is the path of the replay with the recorded durations."""

    length: float
    pieces: tuple[PathPiece, ...]
    shares: tuple[PathShare, ...]  # most time first
    changes: int  # of the rank
    collectives: int  # on the path
    not_resolved: int  # of them: the clocks do not say which rank was last, so the path may lead through another one
    error: float  # of the time at which it changes the rank


class _Groups:
    """The places of each value of a column."""

    def __init__(self, values: Ints) -> None:
        self._order = np.argsort(values, kind="stable")
        self._values = values[self._order]

    def __getitem__(self, value: int) -> Ints:
        low, high = np.searchsorted(self._values, [value, value + 1])
        found: Ints = self._order[low:high]
        return found


def job_path(made: JobOperations, waits: Waiting) -> JobPath:
    """Follow what each operation waited for last."""
    ops = made.ops
    if len(ops) == 0:
        return JobPath(0.0, (), (), 0, 0, 0, 0.0)
    end = Replay(ops).ends(ops.duration[None, :])[0]
    start = end - ops.duration
    member_of, into = _Groups(ops.gang), _Groups(ops.after)
    pieces = []
    waited: list[int] = []  # gangs
    at: int | None = int(end.argmax())
    while at is not None:
        pieces.append(PathPiece(int(ops.rank[at]), ops.kinds[ops.kind[at]], float(start[at]), float(end[at])))
        members = [at]
        if ops.gang[at] >= 0:
            waited.append(int(ops.gang[at]))
            members = member_of[waited[-1]].tolist()
        causes = ops.before[np.concatenate([into[member] for member in members])]
        at = int(causes[end[causes].argmax()]) if len(causes) else None
    pieces = [piece for piece in reversed(pieces) if piece.end > piece.start or piece.operation == BEGIN]
    total: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0])
    for piece in pieces:
        share = total[piece.rank, piece.operation]
        share[0] += piece.end - piece.start
        share[1] += 1
    shares = [PathShare(rank, name, time, int(count)) for (rank, name), (time, count) in total.items()]
    changes = sum(one.rank != other.rank for one, other in pairwise(pieces))
    rows = {row.key: row for row in waits.rows}
    through = [rows[key] for gang in waited if (key := waits.clocks.matched.keys[gang]) in rows]
    return JobPath(
        float(end.max()),
        tuple(pieces),
        tuple(sorted(shares, key=lambda each: -each.time)),
        changes,
        len(through),
        sum(row.resolved == "no" for row in through),
        max((row.error for row in through), default=0.0),
    )
