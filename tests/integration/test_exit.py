"""Exit of the interpreter at any time, however busy the streams are: the right code, no abort, no hang."""

from __future__ import annotations

import pytest

from tests.integration.processes import Ended, run_many, say

CODES = {"end": 0, "exit": 7, "raise": 1}


def _leave(seeds: range) -> None:
    """Work that never ends gets 0.1 s at exit, so that the test is quick."""
    ways = list(CODES)
    programs = [(seed, ways[seed % len(ways)]) for seed in seeds]
    ended = run_many("exit_at_random", programs, EVENTIDE_EXIT_TIMEOUT="0.1")
    for (_seed, how), child in zip(programs, ended, strict=True):
        child.check(CODES[how])
        _check_words(child, how)
    slowest = max(ended, key=lambda child: child.seconds)
    say(f"seeds {seeds.start}..{seeds.stop - 1}; the slowest: {slowest.arguments[1:]} {slowest.seconds:.2f} s")


def _check_words(child: Ended, how: str) -> None:
    """On stderr: the planned error, and at most one line of ours about what was abandoned."""
    lines = [line for line in child.err.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("eventide")]
    assert len(ours) <= 1, str(child)
    assert child.out == "", str(child)
    if how == "raise":
        assert "RuntimeError: the planned error" in lines, str(child)
        assert child.err.count("Traceback") == 1, str(child)
    else:
        assert lines == ours, str(child)


def test_exits_at_random_moments() -> None:
    _leave(range(24))


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_200_exits_at_random_moments() -> None:
    _leave(range(1000, 1200))


def _leave_inside_a_device(seeds: range) -> None:
    kinds = ("deferred", "immediate")
    programs = [(seed, kinds[seed // 2 % 2]) for seed in seeds]
    for child in run_many("exit_in_device", programs, EVENTIDE_EXIT_TIMEOUT="0.05"):
        child.check(0)
        _check_words(child, "end")


def test_exits_with_threads_inside_a_device_of_python() -> None:
    _leave_inside_a_device(range(16))


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_300_exits_with_threads_inside_a_device_of_python() -> None:
    _leave_inside_a_device(range(1000, 1300))
