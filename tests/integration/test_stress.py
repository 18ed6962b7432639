"""64 streams, 8 host threads and a mix of every verb: no callback lost or doubled, nothing stuck, no memory that grows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.processes import run, say

PHASES = 6
WARM = 2  # phases after which allocators, caches and the pool have their size

# A leak of one Python object for every hundred operations of the full run would be 6,700 blocks; what is alive at the
# end of a phase differs by a few hundred (threads that are on their way out, interned integers, dictionary growth).
BLOCKS = 4000
# The allocator's arenas are one per thread and keep what a burst once needed, some megabytes from phase to phase;
# a leak of 64 bytes for each operation of the full run would be 43 MB.
BYTES = 24 << 20


def _stress(operations: int, seed: int, limit: float) -> None:
    child = run("stress", operations, PHASES, seed, limit=limit).check(0)
    answer: dict[str, Any] = json.loads(child.out)
    counts = answer["counts"]
    say(f"{operations} operations in {answer['seconds']:.1f} s, seed {seed}: {counts}")
    for number, measured in enumerate(answer["memory"]):
        say(f"after phase {number}: {measured}")
    submitted = counts["work"] + counts["extra work"]
    assert answer["ran"] == counts["work"] - counts["cancelled"]
    assert answer["out of order"] == 0
    assert counts["callbacks"] == counts["notify"] + counts["callback"] + counts["cancel"]
    assert answer["wrong callbacks"] == 0
    heard = answer["heard"]
    assert heard["work_submission"] == submitted
    assert submitted - counts["cancelled"] <= heard["work_completion"] <= submitted
    assert heard["event_record"] == counts["records"]
    assert heard["event_wait"] == counts["waits"]
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
