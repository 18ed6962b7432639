"""The schedule of random graphs equals the one made by hand, to the nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide import UsageValueError
from eventide.analysis.schedule._schedule import plan_of, schedule
from tests.reference.schedule import binding_of, schedule_of

NODES = 8
edges = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(-20, 20)).filter(
        lambda e: e[0] != e[1]
    ),
    max_size=20,
)
durations = st.lists(st.integers(0, 50), min_size=NODES, max_size=NODES)


def columns(found: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(found, np.int64).reshape(-1, 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


@given(edges, durations, st.integers(-10, 10))
def test_the_schedule_is_the_one_made_by_hand(graph, duration, release):
    source, target, lag = columns(graph)
    expected = schedule_of(graph, duration, [release] * NODES)
    if expected is None:
        with pytest.raises(UsageValueError, match="nodes of the graph wait for each other"):
            plan_of(source, target, NODES)
        return
    found = schedule(plan_of(source, target, NODES), lag, np.array(duration, np.int64), release)
    assert found.start.tolist() == expected
    assert (found.end - found.start).tolist() == duration
    assert found.binding.tolist() == binding_of(graph, expected, duration, [release] * NODES)


@given(edges.map(lambda found: [(min(a, b), max(a, b), lag) for a, b, lag in found]), durations, durations)
def test_shorter_nodes_never_make_a_later_schedule(graph, one, other):
    source, target, lag = columns(graph)
    plan = plan_of(source, target, NODES)
    longer = schedule(plan, lag, np.maximum(one, other).astype(np.int64), 0)
    shorter = schedule(plan, lag, np.minimum(one, other).astype(np.int64), 0)
    assert (shorter.start <= longer.start).all()
    assert (shorter.end <= longer.end).all()
    for before, after, late in graph:
        assert longer.start[after] >= longer.end[before] + late
