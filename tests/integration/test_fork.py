"""Fork: new objects work in the child, objects of the parent are refused there, the parent loses nothing."""

from __future__ import annotations

import pytest

from tests.integration.processes import run_many, say


def _fork(seeds: range, forks: int) -> None:
    for child in run_many("fork_at_random", [(seed, forks) for seed in seeds]):
        child.check(0)
        assert child.out == f"{forks} forks, {forks * 50} results\n", str(child)
        assert child.err == "", str(child)
        say(str(child).strip())


def test_forks_at_random_moments() -> None:
    _fork(range(2), 10)


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_200_forks_at_random_moments() -> None:
    _fork(range(100, 110), 20)
