"""The critical path across ranks: from the end of the job back, at each collective to the rank that was last."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eventide.jobs._operations import BEGIN, JobOperations
from eventide.jobs._replay import Replay


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


def job_path(made: JobOperations) -> JobPath:
    """Follow what each operation waited for last."""
    ops = made.ops
    if len(ops) == 0:
        return JobPath(0.0, (), (), 0)
    end = Replay(ops).ends(ops.duration[None, :])[0]
    start = end - ops.duration
    gangs: dict[int, list[int]] = defaultdict(list)
    for number in np.flatnonzero(ops.gang >= 0).tolist():
        gangs[int(ops.gang[number])].append(number)
    into: dict[int, list[int]] = defaultdict(list)
    for one, other in zip(ops.before.tolist(), ops.after.tolist(), strict=True):
        into[other].append(one)
    pieces = []
    at: int | None = int(end.argmax())
    while at is not None:
        pieces.append(PathPiece(int(ops.rank[at]), ops.kinds[ops.kind[at]], float(start[at]), float(end[at])))
        members = gangs[int(ops.gang[at])] if ops.gang[at] >= 0 else [at]
        causes = [one for member in members for one in into[member]]
        at = max(causes, key=lambda one: end[one], default=None)
    pieces = [piece for piece in reversed(pieces) if piece.end > piece.start or piece.operation == BEGIN]
    total: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0])
    for piece in pieces:
        share = total[piece.rank, piece.operation]
        share[0] += piece.end - piece.start
        share[1] += 1
    shares = [PathShare(rank, name, time, int(count)) for (rank, name), (time, count) in total.items()]
    changes = sum(one.rank != other.rank for one, other in pairwise(pieces))
    return JobPath(float(end.max()), tuple(pieces), tuple(sorted(shares, key=lambda each: -each.time)), changes)
