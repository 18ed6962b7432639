"""The launch queue: outstanding work over time, and calls that wait for room in a full queue."""

from __future__ import annotations

from bisect import bisect_right

import pytest

import eventide as et
from eventide.analysis import queue
from tests.kineto_files import real_trace
from tests.reference.raw_events import calls_by_correlation, work_of
from tests.trace_builder import Builder


def depths(name: str) -> tuple[list[tuple[int, int]], int]:
    """Length of each launching call and the works outstanding as it returned; the most at any time. From the JSON."""
    path = real_trace(name)
    calls = calls_by_correlation(path)
    pairs = [(calls[w["args"]["correlation"]], w) for w in work_of(path) if w["args"].get("correlation") in calls]
    returned = sorted(min(call["end"], work["end"]) for call, work in pairs)
    ended = sorted(work["end"] for _, work in pairs)
    found = [
        (call["end"] - call["start"], bisect_right(returned, at) - bisect_right(ended, at))
        for call, work in pairs
        for at in [min(call["end"], work["end"])]
    ]
    return found, max(depth for _, depth in found)


def test_a_full_queue_is_found_with_its_limit_and_the_calls_that_waited() -> None:
    found, most = depths("nvidia_training_rank0")
    long = [length for length, depth in found if length > 60_000 and depth >= 1020]
    (row,) = queue(et.open_trace(real_trace("nvidia_training_rank0"))).streams
    assert (row.most, row.limit) == (most, most) == (1022, 1022)
    assert 890 <= len(long) <= 902
    assert row.blocked_calls >= len(long)
    assert row.blocked >= sum(long)
    median = sorted(length for length, _ in found)[len(found) // 2]
    assert row.blocked == pytest.approx(
        sum(length for length, depth in found if depth >= most - 3 and length > 5 * median), rel=0.001
    )


@pytest.mark.parametrize("name", ["nvidia_resnet50_loader0", "nvidia_sampled_rank0"])
def test_a_queue_that_is_never_full_has_no_limit(name: str) -> None:
    found = queue(et.open_trace(real_trace(name)))
    assert [row.limit for row in found.streams] == [None] * len(found.streams)
    assert found.blocked == 0
    assert found.heading.endswith("no queue was full")


def test_the_levels_count_launches_starts_and_ends() -> None:
    b = Builder()
    for number in range(3):
        b.launch((number * 10, number * 10 + 5), f"k{number}", 100 + number * 10, 110 + number * 10)
    found = queue(b.trace())
    (row,) = found.streams
    assert (row.launches, row.most, row.waiting, row.empty) == (3, 3, 3, 0)
    assert row.mean == (1 * 10 + 2 * 10 + 3 * (110 - 25) + 2 * 10 + 1 * 10) / (130 - 5)
    levels = found.levels.select(["time", "outstanding", "waiting"]).to_pylist()
    assert [tuple(each.values()) for each in levels] == [
        (5, 1, 1),
        (15, 2, 2),
        (25, 3, 3),
        (100, 3, 2),
        (110, 2, 1),
        (120, 1, 0),
        (130, 0, 0),
    ]


def test_a_trace_without_launches_has_no_queue_and_says_so() -> None:
    b = Builder()
    b.work("kernel", 0, 10)
    found = queue(b.trace())
    assert found.streams == ()
    assert "which call launched which work" in str(found)
    assert found.to_arrow().num_rows == found.levels.num_rows == 0
