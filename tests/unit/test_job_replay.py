"""The replay of operations, against plain Python, and what it says about stragglers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventide.errors import UsageValueError
from eventide.jobs import Operations, Replay, what_if
from tests.reference.jobs import replay


def operations(durations, edges=(), gangs=None, *, ranks=None, kinds=None, steps=None):
    count = len(durations)

    def column(values, default):
        return np.array(values if values is not None else [default] * count, np.int64)

    before, after = (np.array([edge[side] for edge in edges], np.int64) for side in (0, 1))
    names = tuple(f"kind {number}" for number in range(max(kinds or [0]) + 1))
    return Operations(
        np.array(durations, float), column(kinds, 0), names, column(ranks, 0), column(None, -1), column(steps, 0),
        column(gangs, -1), before, after,
    )  # fmt: skip


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 12))
    durations = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    # Members of a gang are neighbours, and edges lead from one block to a later one: no circles.
    blocks = sorted(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)))
    alone = draw(st.sets(st.integers(0, 5)))
    gangs = [-1 if block in alone else block for block in blocks]
    pairs = [(one, other) for one in range(count) for other in range(count) if blocks[one] < blocks[other]]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=20)) if pairs else []
    return durations, edges, gangs


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_operations_end_as_in_plain_python(graph):
    durations, edges, gangs = graph
    ops = operations(durations, edges, gangs)
    ends = Replay(ops).ends(np.array([durations, [2 * each for each in durations]], float))
    assert ends[0].tolist() == replay(durations, edges, gangs)
    assert ends[1].tolist() == [2 * each for each in ends[0]]


def test_operations_that_wait_for_each_other_are_an_error():
    with pytest.raises(UsageValueError, match="2 operations wait for each other in a cycle"):
        Replay(operations([1, 1, 1], [(0, 1), (1, 0)]))


def test_the_slowdown_is_that_of_the_rank_and_the_kind_that_differ():
    # Two ranks compute 10 and 20, then a gang of 2 each; without the straggler: the mean, 15.
    ops = operations([10, 20, 2, 2], [(0, 2), (1, 3)], [-1, -1, 0, 0], ranks=[0, 1, 0, 1], kinds=[0, 0, 1, 1])
    found = what_if(ops)
    assert (found.actual, found.ideal) == (22, 17)
    assert found.slowdown == pytest.approx(22 / 17)
    assert [(share.name, share.explains) for share in found.ranks] == [("1", 1.0), ("0", 0.0)]
    assert [(share.name, share.explains) for share in found.operations] == [("kind 0", 1.0), ("kind 1", 0.0)]
    assert found.slowest_ranks == (1,)


def test_steps_are_replayed_apart_and_their_mean_is_the_job():
    found = what_if(operations([1, 3, 5], steps=[4, 4, 9]))
    assert found.actual == 4
    assert found.steps == ((4, 1.0), (9, 5 / 3))
