"""The clock model equals the oracle, and its error never exceeds the stated bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide import _native
from eventide.runtime import HostClock
from tests.reference.clock_oracle import ClockOracle

SECOND = 1_000_000_000
BAND = 2e-6  # how much the rate of a simulated clock varies in all: what the model takes for granted


class SimulatedClock:
    """An offset, a drift that varies a little from stretch to stretch, and steps."""

    def __init__(self, start: int, offset: int, drift: float, wobbles: list[float], step: tuple[int, int]) -> None:
        self.start, self.offset, self.drift, self.wobbles, self.step = start, offset, drift, wobbles, step

    def read(self, host: int) -> int:
        """What it shows at a time of the host."""
        ahead, left, n = 0.0, host - self.start, 0
        if left <= 0:
            ahead = left * (self.drift + BAND * self.wobbles[0])
        while left > 0:
            stretch = min(left, SECOND)
            ahead += stretch * (self.drift + BAND * self.wobbles[n % len(self.wobbles)])
            left, n = left - stretch, n + 1
        when, by = self.step
        return host + self.offset + round(ahead) + (by if host >= when else 0)


def clocks(steps: bool = False) -> st.SearchStrategy[SimulatedClock]:
    """Clocks of every kind that was met: raw, Unix time, and worse."""
    return st.builds(
        SimulatedClock,
        start=st.just(1_000 * SECOND),
        offset=st.sampled_from([0, 257_320_000, 1_790_857_026 * SECOND, -999 * SECOND]),
        drift=st.floats(-4e-4, 4e-4),
        wobbles=st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=8),
        step=st.tuples(st.integers(1_001 * SECOND, 1_010 * SECOND), st.integers(-SECOND, SECOND))
        if steps
        else st.just((0, 0)),
    )


pauses = st.lists(
    st.tuples(st.integers(1, 3 * SECOND), st.integers(0, 60_000), st.integers(0, 60_000)), min_size=1, max_size=25
)


def samples_of(clock: SimulatedClock, gaps: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    out, host = [], clock.start
    for pause, lead, lag in gaps:
        host += pause
        out.append((host - lead, clock.read(host), host + lag))
        host += lag
    return out


@given(clocks(), pauses, st.lists(st.integers(-SECOND, 60 * SECOND), min_size=1, max_size=10))
def test_the_truth_is_within_the_stated_bound(clock, gaps, questions):
    model = _native.ClockModel()
    for sample in samples_of(clock, gaps):
        model.add(*sample)
    for question in questions:
        host = clock.start + question
        found, error = model.at(clock.read(host))
        assert abs(found - host) <= error + 2


@given(clocks(steps=True), pauses, st.lists(st.integers(-SECOND, 40 * SECOND), min_size=1, max_size=10))
def test_the_model_is_the_oracle(clock, gaps, questions):
    model, oracle = _native.ClockModel(), ClockOracle()
    for sample in samples_of(clock, gaps):
        model.add(*sample)
        oracle.add(*sample)
    assert [a[2] for a in model.state()["anchors"]] == [a.error for a in oracle.anchors]
    for question in questions:
        there = clock.read(clock.start + question)
        (host, error), (wanted, bound) = model.at(there), oracle.at(there)
        assert abs(host - wanted) <= 2 + abs(there) // 2**50
        assert abs(error - bound) <= 2 + bound // 10**6


@given(clocks(steps=True), pauses)
def test_after_a_step_of_the_clock_the_newest_sample_is_exact(clock, gaps):
    model = _native.ClockModel()
    taken = samples_of(clock, gaps)
    for sample in taken:
        model.add(*sample)
        middle = (sample[0] + sample[2]) // 2
        if model.state()["anchors"][-1][0] == middle:  # it was taken as an anchor, and nothing contradicts it
            host, error = model.at(sample[1])
            assert sample[0] - error <= host <= sample[2] + error


def test_a_model_without_samples_returns_no_estimate():
    assert _native.ClockModel().at(5) == (5, -1)


def test_anchors_are_bounded_and_the_old_ones_stay_in_the_trace():
    model = _native.ClockModel()
    for n in range(5_000):
        model.add(n * SECOND, n * SECOND + 7, n * SECOND + 100)
    anchors = model.state()["anchors"]
    assert 500 <= len(anchors) <= 1024
    assert anchors[0][0] == 50
    assert anchors[-1][0] >= 4_990 * SECOND
    assert model.at(1234 * SECOND + 7) == pytest.approx((1234 * SECOND + 50, 52), abs=6_000)


@pytest.mark.parametrize("name", ["CLOCK_REALTIME", "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC"])
def test_other_clocks_of_the_machine_are_mapped_to_the_clock_of_the_trace(name):
    import time

    clock = HostClock(name)
    before = time.monotonic_ns()
    there = time.clock_gettime_ns(getattr(time, name))
    after = time.monotonic_ns()
    clock.sample()
    error = clock.error_ns(there)
    assert before - error <= clock.to_trace(there) <= after + error
    assert clock.clock.samples == 2
    assert clock.clock.name == name


def test_an_unknown_clock_is_a_value_error():
    with pytest.raises(et.UsageValueError, match="there is no clock 'CLOCK_OF_THE_WALL'"):
        HostClock("CLOCK_OF_THE_WALL")
