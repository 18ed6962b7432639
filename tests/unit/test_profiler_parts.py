"""The parts of the profiler that need no recording: schedules, clocks, self times, tables, arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventide.profiler import ProfilerAction, ProfilerResult, schedule
from eventide.profiler._arguments import read
from eventide.profiler._clocks import fit
from eventide.profiler._cycle import numbered
from eventide.profiler._schedule import ask
from eventide.profiler._self_time import self_times
from eventide.trace import Trace

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def trace_of(*spans: tuple) -> Trace:
    """Spans as (track, name, start, duration, args)."""
    columns = zip(*spans, strict=True)
    names = ("track", "name", "start", "duration", "args")
    made = {name: list(values) for name, values in zip(names, columns, strict=True)}
    return Trace({"spans": {**made, "category": ["op"] * len(spans)}, "tracks": {"kind": ["thread"], "name": ["main"]}})


def test_a_schedule_waits_warms_up_and_records() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    cycle = [NONE, WARMUP, RECORD, SAVE]
    assert [plan(step) for step in range(11)] == [NONE, *cycle, *cycle, NONE, NONE]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"active": 0}, "active cannot be 0 steps"),
        ({"wait": -1}, "wait cannot be -1 steps"),
        ({"warmup": 1.5}, "warmup must be a number of steps, not float"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(wrong, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        schedule(**{"wait": 0, "warmup": 0, "active": 1, **wrong})


def test_a_schedule_must_answer_with_an_action() -> None:
    with pytest.raises(TypeError, match="the schedule gave 7 for step 3"):
        ask(lambda step: 7, 3)


def test_torch_s_and_the_seed_s_names_of_arguments_are_understood() -> None:
    options = read(None, None, {"record_shapes": True, "events": ["cycles", "cycles"], "activities": ["CPU"]})
    assert (options.report_input_shapes, options.perf_counters) == (True, ("cycles",))
    assert read("t.pftrace", None, {}).path == "t.pftrace"
    assert read(None, "", {}).path is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "t.txt"}, r"cannot tell from 't\.txt' what to write; use one of \.pftrace"),
        ({"path": "nowhere/at/all/t.json"}, "there is no directory 'nowhere/at/all'; make it first"),
        ({"path": 3}, "path must be the path of a file, not int"),
        ({"perf_counters": "cycles"}, "perf_counters takes a list of names"),
        ({"perf_counters": [3]}, "the name of a perf counter is a string, not int"),
        ({"schedule": 3}, "schedule must be a function, not int"),
        ({"with_everything": True}, "has no argument 'with_everything'; it has module, path"),
    ],
)
def test_arguments_that_cannot_be_are_refused(given, message) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read(None, given.pop("path", None), given)


def test_self_time_is_without_the_spans_inside() -> None:
    spans = trace_of(
        (0, "a", 0, 100, None), (0, "b", 10, 30, None), (0, "c", 15, 5, None), (0, "b", 50, 50, None)
    ).spans
    assert self_times(spans).tolist() == [20, 25, 5, 50]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 20)).map(lambda s: (s[0], "x", *s[1:], None)),
        min_size=1,
        max_size=30,
    )
)
def test_self_times_of_nested_spans_add_up_to_the_time_that_is_covered(given_spans) -> None:
    nested: list[tuple] = []  # keep those that nest with all before
    for track, name, start, duration, args in given_spans:
        end = start + duration
        fits = all(
            other[0] != track
            or end <= other[2]
            or other[2] + other[3] <= start
            or (other[2] <= start and end <= other[2] + other[3])
            or (start <= other[2] and other[2] + other[3] <= end)
            for other in nested
        )
        if fits:
            nested.append((track, name, start, duration, args))
    covered = {(track, tick) for track, _, start, duration, _ in nested for tick in range(start, start + duration)}
    own = self_times(trace_of(*nested).spans).tolist()
    assert sum(own) == len(covered)
    assert min(own) >= 0


def test_a_table_shows_names_as_they_are_and_says_what_it_leaves_out() -> None:
    result = ProfilerResult(
        trace_of(
            (0, "[red]bold\n</script>", 0, 3_000_000, '{"flops": 12000000, "shapes": [[2, 3]]}'),
            (0, "b", 4_000_000, 1_000, None),
            (0, "b", 5_000_000, 3_000, None),
        )
    )
    text = str(result.table())
    assert "[red]bold\\n</script>" in text
    assert "3.000 ms" in text
    assert "12.00 M" in text
    short = result.table(sort_by="count", row_limit=1)
    assert [row.name for row in short.rows] == ["b"]
    assert "1 more rows not shown" in str(short)
    assert [row.shapes for row in result.rows(group_by_input_shape=True)] == ["[[2, 3]]", '""']
    with pytest.raises(ValueError, match="cannot sort by 'colour'; there are self_time, total_time"):
        result.table(sort_by="colour")
    assert result.table(sort_by="self_cpu_time_total").sort_by == "self_time"
    assert "dropped: nothing" in result.report()


def test_the_files_of_later_cycles_are_numbered() -> None:
    assert [numbered("a/t.json.gz", number) for number in range(3)] == ["a/t.json.gz", "a/t.2.json.gz", "a/t.3.json.gz"]


@given(
    offset=st.integers(-(10**15), 10**15),
    events=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1),
    looks=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 100), st.integers(0, 100))),
)
def test_the_offset_of_a_clock_is_never_farther_off_than_the_error_says(offset, events, looks) -> None:
    """Times of the truth: the profile starts at 0; a backend's clock shows the host's time minus the offset."""
    told = [(start - offset, start + took - offset, start + took + late) for start, took, late in events]
    pairs = [(at - before, at - offset, at + after) for at, before, after in looks]
    model = fit(0, told, pairs)
    assert model.consistent
    assert model.error is not None
    assert abs(model.offset - offset) <= model.error


def test_a_clock_that_nothing_is_known_of_has_no_error_to_state() -> None:
    assert fit(0, []).error is None


def test_a_clock_that_no_offset_fits_says_so() -> None:
    model = fit(0, [(0, 10, 20)], [(1000, 0, 1001)])
    assert not model.consistent
    assert model.error is None
