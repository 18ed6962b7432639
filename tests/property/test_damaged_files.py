"""Whatever bytes of a file of ours are damaged, every command that reads it gives a result or one line."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eventide as et
from tests.fuzz import damage


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> damage.Corpus:
    return damage.Corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("kind", damage.KINDS)
def test_an_undamaged_file_is_read(kind: str, corpus: damage.Corpus) -> None:
    path = corpus.damage(kind, random.Random(1), changes=0)
    assert et.open_trace(path).instants.num_rows in {3, 50}
    assert damage.run(["trace", "summary"], path) is None


@pytest.mark.parametrize("kind", damage.KINDS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 20))
def test_a_damaged_file_gives_a_result_or_one_line(kind: str, corpus: damage.Corpus, seed: int, changes: int) -> None:
    chance = random.Random(seed)
    verb, path = chance.choice(list(damage.commands(corpus.damage(kind, chance, changes))))
    assert damage.run(verb, path) is None, verb
