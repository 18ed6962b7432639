"""The window of a trace is what was traced: a profiler that was on long before does not make a device idle."""

from __future__ import annotations

import numpy as np
import pytest

from eventide.analysis import View, breakdown, critical_path, idle, summary
from eventide.analysis._extent import extent_of
from eventide.trace import Trace
from tests.rule_cases.others import profiled
from tests.trace_builder import Builder

MS = 1_000_000


def test_time_before_anything_is_traced_is_not_idle_time():
    trace = profiled(9_700 * MS)
    view = View(trace)
    assert view.window == (9_701 * MS, 10_001 * MS)
    (lane,) = idle(view).lanes
    assert (lane.wall, lane.busy, lane.idle) == (300 * MS, 200 * MS, 100 * MS)
    assert sum(lane.causes.values()) == lane.idle
    (device,) = breakdown(view).devices
    assert (device.whole.wall, device.whole.idle) == (300 * MS, 100 * MS)
    found = critical_path(view)
    assert sum(found.kinds.values()) == found.wall == 300 * MS
    assert all(row.unrecorded >= 0 for row in summary(view).threads)


def test_the_page_of_such_a_trace_is_written(tmp_path):
    profiled(9_700 * MS).report(tmp_path / "r.html")
    assert "What happened for 9.70 s before the traced part" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize("called", ["runtime", "sync", "compile", "step"])
def test_a_pause_behind_a_call_of_the_runtime_is_the_programs(called):
    assert View(profiled(9_700 * MS, called=called)).window[0] == 0


def test_without_devices_the_window_has_everything():
    b = Builder()
    b.span(b.thread(), "start", 0, MS)
    b.span(b.thread(), "main", 9_000 * MS, 9_010 * MS)
    assert View(b.trace()).window == (0, 9_010 * MS)


@pytest.mark.parametrize("seed", range(20))
def test_the_hole_is_found_as_by_looking_at_all_spans(seed):
    random = np.random.default_rng(seed)
    start = (
        np.sort(random.integers(0, 1_000, 50)) * MS + np.where(np.arange(50) < seed, 0, random.integers(0, 4_000)) * MS
    )
    end = start + random.integers(0, 40, 50) * MS
    essential = np.arange(50) >= seed
    found = extent_of(start, end, essential)
    low, high = int(start.min()), int(end.max())
    before = [row for row in range(50) if all(end[row] <= start[other] for other in range(seed, 50)) and row < seed]
    reach = max((int(end[row]) for row in range(seed)), default=low)
    hole = int(start[seed:].min()) - reach
    cut = seed > 0 and hole * 2 > high - low and len(before) == seed
    assert (found.start, found.end) == ((int(start[seed:].min()), high) if cut else (low, high))
    assert sorted(found.outside.tolist()) == (list(range(seed)) if cut else [])


def jax_profile(*, essential: bool) -> Trace:
    """Ten milliseconds of a program between the start of the profiler and its stop, which take seconds."""
    b = Builder()
    thread = b.thread()
    b.span(thread, "$profiler.py:101 start_trace", 0, 9_700 * MS, "sample")
    b.span(thread, "$contextlib.py:130 __enter__", 0, 9_701 * MS, "sample")
    b.span(thread, "main", 9_701 * MS, 9_709 * MS)
    if essential:
        b.launch((9_702 * MS, 9_703 * MS), "gemm", 9_703 * MS, 9_708 * MS)
    b.span(thread, "$profiler.py:213 stop_trace", 9_710 * MS, 12_000 * MS, "sample")
    return b.trace(source="jax")


@pytest.mark.parametrize("essential", [True, False])
def test_the_profilers_own_start_and_stop_are_not_time_of_the_program(essential):
    view = View(jax_profile(essential=essential))
    assert view.window == (9_700 * MS, 9_709 * MS)
    assert {view.word(row) for row in view.outside} == {"$profiler.py:101 start_trace", "$profiler.py:213 stop_trace"}
    rows = {row.name: row.total for row in summary(view).host}
    assert rows["$contextlib.py:130 __enter__"] == MS
    assert "$profiler.py:101 start_trace" not in rows


def test_both_sides_of_the_window_are_named():
    text = " ".join(jax_profile(essential=True).report().split())
    assert "What happened for 9.70 s before the traced part: only $profiler.py:101 start_trace" in text
    assert "What happened for 2.29 s after the traced part: only $profiler.py:213 stop_trace" in text


def test_work_that_a_device_does_while_the_profiler_starts_is_in_the_window():
    b = Builder()
    b.span(b.thread(), "$profiler.py:101 start_trace", 0, 500 * MS)
    b.span(b.stream(), "gemm", 400 * MS, 600 * MS, "kernel")
    assert View(b.trace(source="jax")).window == (400 * MS, 600 * MS)
