"""The time of each collective, split into waiting for its last rank and transfer; who was waited for, at what cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eventide.jobs._clocks import Clocks, Floats
from eventide.jobs._match import PROVIDES, RECEIVES


@dataclass(frozen=True)
class WaitRow:
    """One collective. Times are nanoseconds on the reference's clock, since `Waiting.origin`."""

    key: str
    kind: str | None
    group: str | None
    step: str | None
    ranks: int
    start: float  # of its last rank: from then on it transfers
    last: int  # the rank that all others waited for
    resolved: str  # by "bound": by any possible clock; by "ends": if all leave together; "no"
    waiting: float  # of all ranks together
    longest: float  # of one rank
    transfer: float  # median of its ranks
    shortest: float  # part of a rank, on its own clock: the transfer of the rank that waited least
    bytes: int | None
    error: float  # of each wait


@dataclass(frozen=True)
class WaitedFor:
    """A rank, and what the others lost because it was last."""

    rank: int
    times: int  # it was the last one
    resolved: int  # and the clocks are good enough to say so, by the bound or by the ends
    cost: float  # waiting of all others together
    waited: float  # by itself, for others


@dataclass(frozen=True)
class Waiting:
    """Collectives in which every rank waits for every other, by start."""

    origin: int
    rows: tuple[WaitRow, ...]
    ranks: tuple[WaitedFor, ...]  # most cost first
    left_out: int  # collectives that do not synchronize, or of ranks whose clock is not known
    clocks: Clocks
    waits: Floats  # by row of `clocks.matched`; nan: not known

    @cached_property
    def total(self) -> float:
        """Waiting of all ranks together."""
        return sum(row.waiting for row in self.rows)

    @cached_property
    def transfer(self) -> float:
        """Transfer of all ranks together."""
        return sum(row.transfer * row.ranks for row in self.rows)


def waiting(clocks: Clocks) -> Waiting:
    """Split every collective that synchronizes its ranks."""
    found = clocks.matched
    whole = (found.role == PROVIDES | RECEIVES) & np.isfinite(clocks.error)
    # With a rank that may not have waited, no rank is known to be the last.
    open_ = np.bincount(found.collective, weights=~whole, minlength=len(found.keys)) > 0
    use = np.flatnonzero(whole & ~open_[found.collective])
    use = use[np.argsort(found.collective[use], kind="stable")]
    cuts = np.flatnonzero(np.diff(found.collective[use])) + 1
    parts = [part for part in np.split(use, cuts) if len(part) > 1]
    waits = np.full(len(found), np.nan)
    rows = sorted((_row(clocks, part, waits) for part in parts), key=lambda row: row.start)
    return Waiting(
        clocks.origin, tuple(rows), _by_rank(clocks, rows, waits), len(found.keys) - len(rows), clocks, waits
    )


def _row(clocks: Clocks, part: NDArray[np.int64], waits: Floats) -> WaitRow:
    found = clocks.matched
    start, end, error = clocks.start[part], clocks.end[part], clocks.error[part]
    order = np.argsort(start, kind="stable")
    last, second = order[-1], order[-2]
    # A rank cannot wait longer than its part of the collective lasted.
    wait = np.clip(start[last] - start, 0, end - start)
    waits[part] = wait
    which = int(found.collective[part[0]])
    sizes = found.bytes[part]
    return WaitRow(
        found.keys[which],
        found.kinds[which],
        found.groups[which],
        found.steps[which],
        len(part),
        float(start[last]),
        found.ranks[int(found.rank[part[last]])],
        _resolved(clocks, part, last, second),
        float(wait.sum()),
        float(wait.max()),
        float(np.median(end - start - wait)),
        float((found.end[part] - found.start[part]).min()),
        int(sizes.max()) if sizes.max() >= 0 else None,
        float(error[last] + np.delete(error, last).max()),
    )


def _resolved(clocks: Clocks, part: NDArray[np.int64], last: int, second: int) -> str:
    """Whether the last rank is later than the one before it by more than the clocks may be wrong."""
    start = clocks.start[part]
    ahead = start[last] - start[second]
    if ahead > clocks.error[part[last]] + clocks.error[part[second]]:
        return "bound"
    spreads = [clocks.ranks[int(clocks.matched.rank[part[each]])].spread or 0.0 for each in (last, second)]
    end = clocks.end[part]
    # Those that left later than most do not measure a clock.
    return "ends" if ahead > 2 * sum(spreads) + float(np.median(np.abs(end - np.median(end)))) else "no"


def _by_rank(clocks: Clocks, rows: list[WaitRow], waits: Floats) -> tuple[WaitedFor, ...]:
    cost: dict[int, list[float]] = {rank: [0, 0, 0.0] for rank in clocks.matched.ranks}
    for row in rows:
        mine = cost[row.last]
        mine[0] += 1
        mine[1] += row.resolved != "no"
        mine[2] += row.waiting
    own = np.bincount(clocks.matched.rank, weights=np.nan_to_num(waits), minlength=len(cost))
    found = [
        WaitedFor(rank, int(times), int(resolved), lost, float(own[index]))
        for index, (rank, (times, resolved, lost)) in enumerate(cost.items())
    ]
    return tuple(sorted(found, key=lambda each: (-each.cost, each.rank)))
