"""Clocks of ranks from their collectives: sound, tight, and refused where they contradict."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventide.errors import UsageValueError
from eventide.jobs._clocks import _largest_gap, bound
from tests.reference.jobs import line_range, matched, matched_columns

EXACT = np.zeros(64, np.int64)


def simulate(seed, ranks=64, collectives=50):
    """Small collectives of about 20 us in ten seconds, which ranks reach within 2 us; clocks 5 ms and 20 ppm off."""
    rng = np.random.default_rng(seed)
    offset, drift = rng.uniform(-5e6, 5e6, ranks), rng.uniform(-20e-6, 20e-6, ranks)
    begin = np.sort(rng.uniform(0, 10e9, collectives))
    arrive = begin[:, None] + np.abs(rng.normal(0, 2000, (collectives, ranks)))
    transfer = 20_000 * rng.uniform(0.8, 1.2, (collectives, 1)) + rng.uniform(0, 2000, (collectives, ranks))
    leave = arrive.max(1, keepdims=True) + transfer

    def clock(time):
        return np.rint(time + offset + drift * time).astype(np.int64)

    start, end = clock(arrive), clock(leave)
    rank, collective = np.divmod(np.arange(ranks * collectives), collectives)
    order = np.lexsort((start.T.ravel(), rank))
    rows = np.stack([rank, collective, start.T.ravel(), end.T.ravel()], 1)[order]
    return matched_columns(ranks, rows, {}), arrive.T.ravel()[order], offset, drift


def test_the_truth_is_inside_the_bound_and_small_collectives_give_thirty_microseconds():
    inside, widths, errors = 0, [], []
    for seed in range(200):
        found, truth, offset, drift = simulate(seed)
        clocks = bound(found, EXACT)
        here = found.ranks.index(clocks.reference)
        common = truth + offset[here] + drift[here] * truth - clocks.origin
        inside += bool((np.abs(clocks.start - common) <= clocks.error + 1).all())
        widths.append(max(rank.half_width for rank in clocks.ranks))
        errors.append(np.abs(clocks.start - common).max())
    assert inside == 200
    assert max(widths) <= 30_000
    assert max(errors) <= 5_000  # since all leave a collective together, within 2 us here


def test_the_bound_of_one_pair_is_the_interval_of_its_collectives():
    # The clock of rank 1 is 700 ahead. In the first collective rank 1 is last, in the second rank 0.
    rows = [(0, 0, 1000, 1120), (1, 0, 1800, 1820), (0, 1, 2100, 2130), (1, 1, 2720, 2880)]
    clocks = bound(matched(2, rows), EXACT[:2], drift=0.0)
    assert clocks.reference == 0
    # offset in [max(1800 - 1120, 2720 - 2130), min(1820 - 1000, 2880 - 2100)] = [680, 780]; by the ends 700 and 750
    rank = clocks.ranks[1]
    assert (rank.offset, rank.half_width, rank.error, rank.drift_ppm) == (725.0, 50.0, 55.0, 0.0)
    assert clocks.start[2:].tolist() == [1800 - 725 - 1000, 2720 - 725 - 1000]


def test_a_chain_of_collectives_bounds_ranks_that_never_meet():
    rows = [(0, 0, 100, 110), (1, 0, 1100, 1110), (1, 1, 1200, 1210), (2, 1, 2200, 2210)]
    clocks = bound(matched(3, rows), EXACT[:3], drift=0.0)
    errors = {each.rank: each.error for each in clocks.ranks}
    assert errors[clocks.reference] == 0
    assert sorted(errors.values()) == ([0.0, 10.0, 10.0] if clocks.reference == 1 else [0.0, 10.0, 20.0])


def test_a_rank_that_shares_no_collective_is_not_aligned():
    rows = [(0, 0, 100, 110), (1, 0, 1100, 1110), (2, 0, 100, 110), (3, 1, 5, 9), (4, 1, 5, 9)]
    clocks = bound(matched(5, rows), EXACT[:5])
    assert clocks.reference in {0, 1, 2}
    assert clocks.unaligned == [3, 4]
    assert clocks.ranks[3].offset is None
    assert math.isinf(clocks.error[-1])


@pytest.mark.parametrize(
    ("roles", "low", "high"),
    [
        ({}, -10, 20),  # all-reduce: both sides
        ({(0, 0): 1, (1, 0): 2}, -math.inf, 20),  # rank 0 provides: 1 does not end before 0 has started
        ({(0, 0): 2, (1, 0): 1}, -10, math.inf),
        ({(0, 0): 0, (1, 0): 0}, -math.inf, math.inf),
    ],
)
def test_who_provides_and_who_receives_decides_what_is_bounded(roles, low, high):
    from eventide import _native

    found = matched(2, [(0, 0, 100, 120), (1, 0, 110, 120)], roles)
    ranges = [np.zeros(2) for _ in range(4)]
    first = np.array([0, 1, 2], np.int64)
    rows = (first, found.collective, found.start, found.end, found.role, 1, 0, 0.0)
    assert _native.bound_clock_offsets(*rows, ranges[0], ranges[1], ranges[2], ranges[3], 10) is None
    assert (ranges[0][1], ranges[1][1]) == (low, high)


def test_collectives_that_contradict_are_refused_with_the_pair():
    rows = [(0, 0, 0, 100), (1, 0, 0, 100), (0, 1, 1000, 1100), (1, 1, 4000, 4100), (2, 0, 0, 100), (2, 1, 1000, 1100)]
    with pytest.raises(
        UsageValueError, match=r"ranks (0 and 1|1 and 2) do not fit: no offset .* \(key [01]\).* are missing"
    ):
        bound(matched(3, rows), EXACT[:3])


numbers = st.integers(-50, 50).map(float) | st.just(math.inf)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 9).map(float)), min_size=1, max_size=8))
def test_the_pair_that_contradicts_most_is_that_of_all_pairs(rows):
    least, most, time = (np.array(column) for column in zip(*rows, strict=True))
    least = -least  # -inf: no bound
    gaps = [
        [one - other - 2 * 0.25 * abs(here - there) for other, there in zip(most, time, strict=True)]
        for one, here in zip(least, time, strict=True)
    ]
    gap, low, high = _largest_gap(least, most, time, 0.25)
    assert gap == max(map(max, gaps))
    assert gap in {gaps[low][high], -math.inf}


def test_a_clock_may_drift_and_not_jump():
    # 100 us in a second is 100 ppm; in a millisecond it is no clock.
    for second, fits in ((1_000_000_000, True), (1_000_000, False)):
        rows = [(0, 0, 0, 10), (1, 0, 0, 10), (0, 1, second, second + 10), (1, 1, second + 100_000, second + 100_010)]
        if fits:
            assert bound(matched(2, rows), EXACT[:2]).ranks[1].drift_ppm == pytest.approx(100, abs=0.1)
        else:
            with pytest.raises(UsageValueError, match="ranks 0 and 1 do not fit"):
                bound(matched(2, rows), EXACT[:2])


def test_times_in_whole_microseconds_do_not_contradict_by_rounding():
    rows = [(0, 0, 100_000, 110_000), (1, 0, 111_000, 112_000), (0, 1, 200_000, 210_000), (1, 1, 189_000, 199_000)]
    with pytest.raises(UsageValueError):
        bound(matched(2, rows), EXACT[:2])
    assert bound(matched(2, rows), np.array([1000, 1000], np.int64)).unaligned == []


rows_of_two = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=6
)


@settings(max_examples=150, deadline=None)
@given(rows_of_two, st.sampled_from([0.0, 0.125]))
def test_two_ranks_have_the_range_of_the_linear_programme(given_rows, drift):
    """Against every vertex of the polygon, in fractions: T of a collective is within the reference's part of it."""
    rows = []
    for number, (start, length, other, other_length) in enumerate(given_rows):
        rows += [(0, number, 100 * number + start, 100 * number + start + length)]
        rows += [(1, number, 100 * number + other, 100 * number + other + other_length)]
    found = matched(2, rows)
    try:
        clocks = bound(found, EXACT[:2], drift=drift)
    except UsageValueError:
        clocks = None
    one = clocks.reference if clocks is not None else _reference(found)
    sides = {}
    for rank, collective, start, end in zip(found.rank, found.collective, found.start, found.end, strict=True):
        sides.setdefault(int(collective), {})[int(rank)] = (int(start), int(end))
    lines = []
    for pair in sides.values():
        (start, end), (own_start, own_end) = pair[one], pair[1 - one]
        lines += [
            (Fraction(own_start), Fraction(own_start - end), False),
            (Fraction(own_end), Fraction(own_end - start), True),
        ]
    own = np.flatnonzero(found.rank == 1 - one)
    for row in own.tolist():
        expected = line_range(lines, Fraction(drift), Fraction(int(found.start[row])))
        assert (expected is None) == (clocks is None)
        if clocks is not None:
            at_end = line_range(lines, Fraction(drift), Fraction(int(found.end[row])))
            offset = int(found.start[row]) - clocks.start[row] - clocks.origin
            offset_at_end = int(found.end[row]) - clocks.end[row] - clocks.origin
            assert float(expected[0]) - 1e-6 <= offset <= float(expected[1]) + 1e-6
            farthest = [
                *(abs(float(edge) - offset) for edge in expected),
                *(abs(float(edge) - offset_at_end) for edge in at_end),
            ]
            assert clocks.error[row] == pytest.approx(max(farthest), abs=1e-6)


def _reference(found):
    lengths = [int((found.end - found.start)[found.rank == rank].sum()) for rank in (0, 1)]
    return int(np.argmin(lengths))
