"""The clocks of the ranks, with a bound for the error.

In a collective no rank that receives ends before each rank that provides has started: that bounds the offset of each
clock to the reference's; so do messages that our recorder exchanged, and a clock that ranks share (_ties). A clock is
an offset and a drift, and `bound_clock_offsets` of the core solves for both.

The estimate lies within what is possible, where all ranks leave their collectives together: that is what collectives
do, but no law. Its error is the distance to the farther end of what is possible; it holds in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eventide import _native
from eventide.errors import UsageValueError
from eventide.jobs._job import Job
from eventide.jobs._match import PROVIDES, RECEIVES, Bools, Ints, Matched, contradiction
from eventide.jobs._ties import Tied, with_ties

DRIFT = 200e-6  # the most that clocks drift apart: quartz is good to 100 ppm
_ROUNDS = 100

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankClock:
    """The clock of a rank against the reference's; nanoseconds."""

    rank: int
    aligned: bool
    offset: float | None  # what to subtract from its times, at the middle one of its collectives; None: not aligned
    half_width: float | None  # of what is possible; the largest at its collectives
    error: float | None  # of the estimate: at most twice that
    spread: float | None  # of the ends of its collectives around those of the others: how exact the estimate seems
    drift_ppm: float | None
    collectives: int


@dataclass(frozen=True)
class Clocks:
    """`start`, `end` of each row of `matched` on the reference's clock, and the largest error of either."""

    reference: int | None  # a rank
    ranks: tuple[RankClock, ...]
    matched: Matched
    start: Floats  # since `origin`
    end: Floats
    error: Floats  # infinite: its rank is not aligned
    origin: int  # a time of the reference

    @property
    def unaligned(self) -> list[int]:
        """Ranks that no collective ties to the reference; questions across ranks leave them out."""
        return [each.rank for each in self.ranks if not each.aligned]

    @property
    def worst(self) -> float | None:
        """The largest error of an aligned rank."""
        return max((each.error for each in self.ranks if each.error is not None), default=None)

    def shift(self, rank: int, times: Ints) -> Floats:
        """Times of a rank on the reference's clock, since `origin`."""
        here = self.matched.rank == self.matched.ranks.index(rank)
        own, common = self.matched.start[here], self.start[here]
        if len(own) == 0 or not np.isfinite(self.error[here]).any():
            return np.full(len(times), np.nan)
        offset = (own - own[0]) - (common - common[0])
        moved: Floats = (times - own[0]) + common[0] - np.interp(times, own, offset)
        return moved


def align(job: Job, found: Matched) -> Clocks:
    """Bound the clocks of all ranks. UsageValueError, with two ranks, if no clocks fit the collectives."""
    resolution = np.array([each.resolution for each in job.ranks], np.int64)
    return bound(found, np.where(resolution > 1, resolution, 0), tied=with_ties(job, found))


def bound(found: Matched, resolution: Ints, drift: float = DRIFT, tied: Tied | None = None) -> Clocks:
    """The same for collectives; times are known to `resolution` nanoseconds of each rank, downwards."""
    count = len(found.ranks)
    tied = tied or Tied(found, np.arange(len(found)))
    base, reference, possible = _solve(tied, resolution, drift, count)
    first = np.searchsorted(found.rank, np.arange(count + 1)).astype(np.int64)
    start = found.start - base[found.rank]
    end = found.end - base[found.rank]
    guess, spread = _guess(found, first, end, possible, reference)
    middle, middle_end = (
        np.clip(guess, possible.low, possible.high),
        np.clip(guess, possible.low_end, possible.high_end),
    )
    error = possible.error(middle, middle_end)
    known = np.isfinite(error)
    common = np.where(known, start - np.where(known, middle, 0), np.nan)
    common_end = np.where(known, end - np.where(known, middle_end, 0), np.nan)
    offset = np.where(known, middle, np.nan) + ((base - base[reference])[found.rank] if len(found) else 0.0)
    clocks = []
    for each, rank in enumerate(found.ranks):
        here = slice(first[each], first[each + 1])
        half = float(possible.half_width()[here].max(initial=0.0))
        clocks.append(_clock(rank, offset[here], error[here], start[here], (half, float(spread[each]))))
    origin = int(base[reference]) if count else 0
    name = found.ranks[reference] if len(found) else None
    return Clocks(name, tuple(clocks), found, common, common_end, error, origin)


def _solve(tied: Tied, resolution: Ints, drift: float, count: int) -> tuple[Ints, int, _Possible]:
    """What is possible for each collective. Times of a rank count from its base, so that they are exact as floats."""
    rows = tied.rows
    first = np.searchsorted(rows.rank, np.arange(count + 1)).astype(np.int64)
    base = np.array([rows.start[low] if low < high else 0 for low, high in pairwise(first.tolist())], np.int64)
    step = resolution[rows.rank] if len(rows) else np.empty(0, np.int64)
    start, end = rows.start - base[rows.rank], rows.end - base[rows.rank]
    reference = _reference(rows, end - start, count)
    ranges = [np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))]
    if len(rows):
        rows_of = (first, rows.collective, start - step, end + 2 * step, rows.role)
        conflict = _native.bound_clock_offsets(
            *rows_of, len(rows.keys), reference, drift, ranges[0], ranges[1], ranges[2], ranges[3], _ROUNDS
        )
        if conflict is not None:
            raise _explain(_Given(rows, base, step, drift), *conflict)
    return base, reference, _Possible(*(each[tied.own] for each in ranges))


@dataclass(frozen=True)
class _Possible:
    """The range of each row's offset at its start and at its end; infinite where nothing bounds it."""

    low: Floats
    high: Floats
    low_end: Floats
    high_end: Floats

    def half_width(self) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.maximum(self.high - self.low, self.high_end - self.low_end) / 2

    def error(self, at_start: Floats, at_end: Floats) -> Floats:
        """The distance to the farther end."""
        with np.errstate(invalid="ignore"):
            ends = np.maximum(self.high_end - at_end, at_end - self.low_end)
            found = np.maximum(np.maximum(self.high - at_start, at_start - self.low), ends)
        return np.where(np.isfinite(self.half_width()), found, np.inf)

    def middle(self) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(self.half_width()), (self.low_end + self.high_end) / 2, np.nan)


_PASSES = 3  # each moves the estimates closer to each other


def _guess(found: Matched, first: Ints, end: Ints, possible: _Possible, reference: int) -> tuple[Floats, Floats]:
    """The offset of each row at which its rank leaves its collectives when the others do; the spread of each rank.

    A line through the differences to the reference, and then to the median of the ranks; a rank that shares nothing
    with the reference is at first in the middle of what is possible.
    """
    guess = possible.middle()
    whole = (found.role == PROVIDES | RECEIVES) & np.isfinite(guess)
    spread = np.full(len(found.ranks), np.nan)
    shared = np.flatnonzero(whole & (found.rank == reference))
    for number in range(_PASSES):
        left = _medians(found.collective, end - guess, whole, len(found.keys))
        if number == 0:
            left[found.collective[shared]] = end[shared]
        differences = end - left[found.collective]
        for rank, (low, high) in enumerate(pairwise(first.tolist())):
            use = np.flatnonzero(whole[low:high]) + low
            if len(use) == 0:
                continue
            line = _line(end[use].astype(float), differences[use])
            kept = np.clip(line, possible.low_end[use], possible.high_end[use])
            guess[use], spread[rank] = kept, np.median(np.abs(differences[use] - kept))
    return np.where(np.isfinite(guess), guess, 0.0), spread


def _medians(groups: Ints, values: Floats, use: Bools, count: int) -> Floats:
    """The median of the values of each group; nan where it has none."""
    rows = np.flatnonzero(use)
    rows = rows[np.lexsort((values[rows], groups[rows]))]
    number = np.bincount(groups[rows], minlength=count)
    begin = np.concatenate(([0], np.cumsum(number)[:-1]))
    found = np.full(count, np.nan)
    some = number > 0
    ordered = values[rows]
    low, high = (begin + (number - 1) // 2)[some], (begin + number // 2)[some]
    found[some] = (ordered[low] + ordered[high]) / 2
    return found


def _line(time: Floats, value: Floats) -> Floats:
    """The line between the medians of the first and of the last third: single values do not move it."""
    third = len(time) // 3
    if third < 3:
        return np.full(len(time), np.median(value))
    early, late = np.median(time[:third]), np.median(time[-third:])
    slope = (np.median(value[-third:]) - np.median(value[:third])) / max(late - early, 1.0)
    level = np.median(value - slope * time)
    line: Floats = level + slope * time
    return line


def _reference(found: Matched, length: Ints, count: int) -> int:
    """Of the ranks that are tied to most others: the one that waited least, since short intervals bound best."""
    whole = found.role == PROVIDES | RECEIVES
    number = np.bincount(found.rank[whole], minlength=count)
    waited = np.bincount(found.rank[whole], weights=length[whole], minlength=count)
    group = _connected(found, whole, count)
    tied = np.bincount(group, minlength=count)[group]
    return int(np.lexsort((waited, -number, -tied))[0]) if count else 0


def _connected(found: Matched, whole: Bools, count: int) -> Ints:
    """The least rank that each rank is tied to by a chain of collectives."""
    group = np.arange(count, dtype=np.int64)
    rank, collective = found.rank[whole], found.collective[whole]
    while True:
        least = np.full(len(found.keys), count, np.int64)
        np.minimum.at(least, collective, group[rank])
        before = group.copy()
        np.minimum.at(group, rank, least[collective])
        if (group == before).all():
            return group


def _clock(rank: int, offset: Floats, error: Floats, start: Ints, quality: tuple[float, float]) -> RankClock:
    known = np.isfinite(error)
    if not known.any():
        return RankClock(rank, False, None, None, None, None, None, len(error))
    drift = None
    if known.sum() > 1 and start[known][-1] > start[known][0]:
        drift = float((offset[known][-1] - offset[known][0]) / (start[known][-1] - start[known][0]) * 1e6)
    middle = float(offset[known][len(offset[known]) // 2])
    return RankClock(rank, True, middle, quality[0], float(error[known].max()), quality[1], drift, len(error))


@dataclass(frozen=True)
class _Given:
    """What the bounds were derived from."""

    found: Matched
    base: Ints
    step: Ints
    drift: float


def _explain(given: _Given, rank: int, upper: int, lower: int) -> UsageValueError:
    """The error with a second rank that contradicts by itself, if there is one."""
    found = given.found
    pairs = [pair for other in range(len(found.ranks)) if other != rank and (pair := _pair(given, rank, other))]
    if pairs:
        by, other, low, high = max(pairs)
        return contradiction(found, (min(rank, other), max(rank, other)), (low, high), by)
    one, two = found.name(int(found.collective[upper])), found.name(int(found.collective[lower]))
    return UsageValueError(
        f"the collectives of rank {found.ranks[rank]} do not fit those of the others: no offset of its clock satisfies "
        f"both {two} and {one}. Events are missing from a trace, or the traces are of different runs"
    )


def _pair(given: _Given, one: int, other: int) -> tuple[float, int, int, int] | None:
    """By how much two collectives contradict for two ranks, and which: (ns, other, collective, collective)."""
    found = given.found
    rows = [np.flatnonzero(found.rank == each) for each in (one, other)]
    _, a, b = np.intersect1d(found.collective[rows[0]], found.collective[rows[1]], return_indices=True)
    a, b = rows[0][a], rows[1][b]
    if len(a) == 0:
        return None
    start = found.start - given.base[found.rank] - given.step
    end = found.end - given.base[found.rank] + 2 * given.step
    # The offset of `one` less that of `other`, in every shared collective.
    least = np.where((found.role[a] & PROVIDES > 0) & (found.role[b] & RECEIVES > 0), start[a] - end[b], -np.inf)
    most = np.where((found.role[b] & PROVIDES > 0) & (found.role[a] & RECEIVES > 0), end[a] - start[b], np.inf)
    gap, low, high = _largest_gap(least, most, start[a].astype(np.float64), given.drift)
    if gap <= 0:
        return None
    return gap, other, int(found.collective[a[low]]), int(found.collective[a[high]])


def _largest_gap(least: Floats, most: Floats, time: Floats, drift: float) -> tuple[float, int, int]:
    """The largest least[i] - most[j] less what the clocks may drift apart between time[i] and time[j]; i and j.

    In two passes over the times in order, one for each sign of time[i] - time[j].
    """
    found = (-np.inf, 0, 0)
    ascending = np.argsort(time, kind="stable")
    for sign, order in ((1.0, ascending), (-1.0, ascending[::-1])):
        moved = sign * 2 * drift * time[order]
        best = np.maximum.accumulate(moved - most[order])
        fresh = np.append(True, best[1:] > best[:-1])
        where = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
        gap = least[order] - moved + best
        place = int(gap.argmax())
        found = max(found, (float(gap[place]), int(order[place]), int(order[where[place]])))
    return found
