"""Random concurrent programs on a device: `python -m tests.soak --device sim --seconds 600 --seed 1`.

Threads use streams, events, pools, buffers, hooks, callbacks and asyncio at once, in rounds of about a second. After
each round everything is drained and the ledger is checked. A hang prints the stacks of all threads and ends the
process. The last line is a row of a table: what ran and what grew. Exit code 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import threading
import time
from collections import Counter

import eventide as et
from tests.soak.devices import HEAVY, LIGHT, prepare
from tests.soak.growth import Held
from tests.soak.ledger import LIMIT
from tests.soak.soak_round import STREAMS, THREADS, Round
from tests.soak.verbs import Thread

ROUND = 1.0  # seconds
WARM = 2  # rounds after which caches have their size
LEAST = 3  # rounds after these: what each of them leaves is more than one of them may have
ENDING = 2  # threads that may be on their way out when they are counted
BYTES_A_ROUND = 1 << 20
BYTES_AT_FIRST = 16 << 20  # the allocator reaches its size in the first rounds


def one_round(device: et.Device, seed: int, seconds: float, totals: Counter[str]) -> list[str]:
    """Run one round; what was wrong in it."""
    faulthandler.dump_traceback_later(seconds + 2 * LIMIT, exit=True)
    round_ = Round(device, seed)
    threads = [Thread(round_, number, seed * THREADS + number) for number in range(THREADS)]
    until = time.monotonic() + seconds
    with round_.hooked():
        running = [threading.Thread(target=thread.run, args=[until], daemon=True) for thread in threads]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    round_.finish()
    for one in threads:
        totals.update(one.counts)
    totals["items"] += len(round_.ledger.items)
    totals["failed"] += sum(item.error is not None and item.ran for item in round_.ledger.items)
    round_.dismantle()
    faulthandler.cancel_dump_traceback_later()
    return round_.ledger.wrong


def grown(growth: dict[str, int], rounds: int) -> list[str]:
    """What grew by more than the machine explains."""
    # The streams of one round may be in the hands of a callback when they are counted; those of several are a leak.
    limits = {
        "threads": ENDING,
        "states": ENDING,
        "streams": THREADS * STREAMS + 1,
        "rss": BYTES_AT_FIRST + rounds * BYTES_A_ROUND,
    }
    if "LD_PRELOAD" in os.environ:  # a sanitizer's own memory grows
        del limits["rss"]
    return [f"{what} grew by {growth[what]}, limit {limit}" for what, limit in limits.items() if growth[what] > limit]


def soak(name: str, seconds: float, seed: int) -> int:
    device = prepare(name)
    rng, totals, measured = random.Random(seed), Counter[str](), list[Held]()
    began = time.monotonic()
    wrong: list[str] = []
    while not wrong and (len(measured) <= WARM + LEAST or time.monotonic() - began < seconds):
        round_seed = rng.randrange(1 << 32)
        sys.setswitchinterval(rng.choice((1e-5, 1e-4, 5e-3)))
        wrong = [f"round seed {round_seed}: {one}" for one in one_round(device, round_seed, ROUND, totals)]
        measured.append(Held.settled(measured[-1] if measured else None))
    growth = measured[-1] - measured[min(WARM, len(measured) - 1)]
    wrong += grown(growth, len(measured))
    for line in wrong[:20]:
        sys.stdout.write(f"WRONG {line}\n")
    verbs = sum(totals.values()) - totals["items"] - totals["failed"]
    grew = ", ".join(f"{what} {count:+}" for what, count in growth.items())
    outcome = f"{len(wrong)} wrong" if wrong else "right"
    sys.stdout.write(
        f"| {name} | {seed} | {time.monotonic() - began:.0f} s | {len(measured)} rounds | {verbs} verbs | "
        f"{totals['items']} items, {totals['failed']} failed | {grew} | {outcome} |\n"
    )
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.soak", description=__doc__)
    parser.add_argument("--device", choices=[*LIGHT, *HEAVY], default="cpu")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    faulthandler.enable()
    return soak(given.device, given.seconds, given.seed)


if __name__ == "__main__":
    sys.exit(main())
