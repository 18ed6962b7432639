"""Lanes: on each, spans nest; what overlaps in part is put on a further lane of the same track."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.trace._columns import assign_lanes


def lanes_of(spans, tracks=1):
    """(track, start, duration) of each span -> its lane."""
    track, start, duration = zip(*spans, strict=True) if spans else ((), (), ())
    count = len(spans)
    trace = et.Trace(
        {
            "tracks": {"kind": ["thread"] * tracks},
            "spans": {
                "track": track,
                "start": start,
                "duration": duration,
                "name": ["x"] * count,
                "category": ["span"] * count,
            },
        }
    )
    return assign_lanes(trace)


def test_spans_that_nest_or_follow_each_other_share_the_tracks_own_lane():
    found = lanes_of([(0, 0, 10), (0, 2, 3), (0, 5, 5), (0, 10, 0), (0, 10, 4)])
    assert found.lane().tolist() == [0, 0, 0, 0, 0]


def test_a_span_that_overlaps_in_part_gets_a_lane_behind_all_tracks():
    found = lanes_of([(0, 0, 10), (0, 5, 10), (1, 0, 10), (0, 6, 1)], tracks=2)
    assert found.lane().tolist() == [0, 2, 1, 0]
    assert found.track().tolist() == [0, 1, 0]


def test_an_open_span_contains_others_and_is_contained_in_none_that_ended():
    found = lanes_of([(0, 0, None), (0, 1, 5), (0, 2, None)])
    assert found.lane().tolist() == [0, 0, 1]


def test_outer_spans_come_before_inner_ones_that_start_with_them():
    assert lanes_of([(0, 0, 5), (0, 0, 9), (0, 0, None)]).order().tolist() == [2, 1, 0]


def test_times_at_the_limits_of_the_clock_are_handled():
    low, high = -(2**63) + 1, 2**63 - 1
    assert lanes_of([(0, low, high), (0, high, high), (0, high, None), (0, 0, None)]).lane().tolist() == [0, 0, 0, 0]


def oracle(spans):
    """First fit, by definition: a span fits where each span of the lane holds it or has ended."""
    end = [2**63 - 1 if duration is None else start + duration for _, start, duration in spans]
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], spans[i][1], -end[i], i))
    placed: dict[tuple[int, int], list[int]] = {}
    lane: dict[int, int] = {}
    for i in order:
        track, start, _ = spans[i]
        k = 0
        while any(not (end[j] <= start or end[j] >= end[i]) for j in placed.get((track, k), [])):
            k += 1
        placed.setdefault((track, k), []).append(i)
        lane[i] = k
    return [lane[i] for i in range(len(spans))]


times = st.integers(-3, 12)
some_spans = st.lists(st.tuples(st.integers(0, 2), times, st.none() | st.integers(0, 6)), max_size=30)


@given(some_spans)
def test_lanes_are_those_of_the_oracle(spans):
    found = lanes_of(spans, tracks=3)
    lane, track = found.lane(), found.track()
    rank = [
        sum(1 for k in range(3, one) if track[k] == spans[i][0]) + 1 if one >= 3 else 0 for i, one in enumerate(lane)
    ]
    assert rank == oracle(spans)
    assert [track[one] for one in lane] == [span[0] for span in spans]
    assert sorted(found.order().tolist()) == list(range(len(spans)))
    assert np.all(np.diff(lane[found.order()]) >= 0)
