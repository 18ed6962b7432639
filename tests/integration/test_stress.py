"""64 streams, 8 host threads, a mix of every verb: no callback lost or doubled, nothing stuck, no memory that grows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.processes import run, say

PHASES = 6
WARM = 2  # phases after which allocators, caches and the pool have their size

# Measured: 18 to 100 blocks, some tens of kilobytes. A leak of one Python object for every two hundred operations of
# the full run would be 2,500 blocks, one of 16 bytes for each operation 8 MB; less than that is lost in what threads on
# their way out and the allocator's arenas hold from one phase to the next.
BLOCKS = 2000
BYTES = 8 << 20


def _stress(operations: int, seed: int, limit: float) -> None:
    child = run("stress", operations, PHASES, seed, limit=limit).check(0)
    answer: dict[str, Any] = json.loads(child.out)
    counts = answer["counts"]
    say(f"{operations} operations in {answer['seconds']:.1f} s, seed {seed}: {counts}")
    for number, measured in enumerate(answer["memory"]):
        say(f"after phase {number}: {measured}")
    submitted = counts["work"] + counts["native"] + counts["extra work"]
    assert answer["ran"] == counts["work"] - counts["cancelled"]
    assert answer["ran natively"] == counts["native"]
    assert answer["out of order"] == 0
    assert counts["callbacks"] == counts["notify"] + counts["callback"] + counts["cancel"]
    assert answer["wrong callbacks"] == 0
    received = answer["received"]
    assert received["work_submission"] == submitted
    assert submitted - counts["cancelled"] <= received["work_completion"] <= submitted
    assert received["event_record"] == counts["records"]
    assert received["event_wait"] == counts["waits"]
    assert answer["errors in callbacks"] == 0
    assert answer["versions"] == counts["record"]
    created, in_use, cached, reused = answer["pool"]
    assert (in_use, cached) == (0, created)
    assert created + reused == counts["pool"]
    assert created <= 8  # one for each thread
    _check_memory(answer["memory"][WARM], answer["memory"][-1])


def _check_memory(before: dict[str, int], after: dict[str, int]) -> None:
    growth = {name: after[name] - before[name] for name in before}
    say(f"growth after the warm-up: {growth}")
    assert growth["blocks"] <= BLOCKS
    assert growth["objects"] <= BLOCKS
    assert growth["rss"] <= BYTES
    assert growth["threads"] <= 0


def test_a_mix_of_everything() -> None:
    _stress(60_000, seed=1, limit=100.0)


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_a_million_operations() -> None:
    _stress(1_000_000, seed=2, limit=850.0)
