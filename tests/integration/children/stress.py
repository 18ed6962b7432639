"""Many threads, streams and verbs at once: `stress.py OPERATIONS PHASES SEED`. Prints what was counted, as JSON.

The operations are divided into phases; each ends with everything drained, and memory is measured there.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import json
import random
import resource
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import eventide as et
from tests.integration.semaphores import SEM_POST, Semaphore

STREAMS, THREADS, EVENTS = 64, 8, 64
LIMIT = 120.0  # seconds; a thread that takes longer hangs
LISTENED = ("work_submission", "work_completion", "event_record", "event_wait")

VERBS = (
    ["submit"] * 8
    + ["native"] * 2
    + ["record"] * 4
    + ["wait"] * 3
    + ["query"] * 2
    + ["notify", "callback", "cancel", "pool"]
)


class Tally:
    """Counts calls of callbacks, each of which has a slot of its own: a lost one leaves 0, a doubled one 2."""

    def __init__(self) -> None:
        self.slots = bytearray()

    def slot(self) -> int:
        self.slots.append(0)
        return len(self.slots) - 1

    def hit(self, slot: int) -> None:
        self.slots[slot] += 1

    def wrong(self) -> int:
        return len(self.slots) - self.slots.count(1)


class Stress:
    """What is shared by the threads, and what they counted."""

    def __init__(self) -> None:
        # Every other stream is narrow, so that submit has to wait for room; the others are bounded too, or the queues
        # of one phase would make the memory of another.
        self.streams = [et.Stream("cpu", max_pending=16 if number % 2 else 256) for number in range(STREAMS)]
        self.events = [et.Event("cpu") for _ in range(EVENTS)]
        self.pool = et.EventPool("cpu")
        self.native = Semaphore()  # counts native work
        self.ran = [0] * STREAMS  # each written by its stream's worker only
        self.last = [[0] * THREADS for _ in range(STREAMS)]  # the newest item of each thread that a stream has run
        self.out_of_order = itertools.count()
        self.received = {hook: itertools.count() for hook in LISTENED}
        self.counts: Counter[str] = Counter()
        self.wrong_callbacks = 0

    def work(self, stream: int, thread: int, number: int) -> int:
        self.ran[stream] += 1
        if number <= self.last[stream][thread]:
            next(self.out_of_order)
        self.last[stream][thread] = number
        return number


class Thread:
    """One host thread of one phase."""

    def __init__(self, stress: Stress, number: int, seed: int, first: int) -> None:
        self.stress, self.number, self.first = stress, number, first
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.tally = Tally()
        self.errors: list[str] = []

    def run(self, operations: int) -> None:
        try:
            for number in range(operations):
                verb = self.random.choice(VERBS)
                getattr(self, "do_" + verb)(self.random.randrange(STREAMS), self.first + number)
                self.counts[verb] += 1
        except BaseException as error:
            self.errors.append(repr(error))

    def _submit(self, stream: int, number: int) -> et.Future:
        self.counts["work"] += 1
        return self.stress.streams[stream].submit(self.stress.work, stream, self.number, number)

    def do_submit(self, stream: int, number: int) -> None:
        self._submit(stream, number)

    def do_native(self, stream: int, number: int) -> None:
        self.stress.streams[stream].submit_native(SEM_POST, self.stress.native.address)

    def do_callback(self, stream: int, number: int) -> None:
        slot, tally = self.tally.slot(), self.tally
        self._submit(stream, number).add_done_callback(lambda future: tally.hit(slot))

    def do_cancel(self, stream: int, number: int) -> None:
        slot, tally = self.tally.slot(), self.tally
        future = self._submit(stream, number)
        future.add_done_callback(lambda future: tally.hit(slot))
        self.counts["cancelled"] += future.cancel()

    def do_record(self, stream: int, number: int) -> None:
        self.stress.events[number % EVENTS].record(self.stress.streams[stream])
        self.counts["records"] += 1

    def do_wait(self, stream: int, number: int) -> None:
        self.stress.streams[stream].wait_event(self.stress.events[self.random.randrange(EVENTS)])
        self.counts["waits"] += 1

    def do_query(self, stream: int, number: int) -> None:
        self.stress.events[number % EVENTS].query()
        self.stress.streams[stream].query()

    def do_notify(self, stream: int, number: int) -> None:
        slot, tally = self.tally.slot(), self.tally
        self.stress.events[number % EVENTS].notify(lambda event: tally.hit(slot))

    def do_pool(self, stream: int, number: int) -> None:
        """Recorded, waited for, and given back at once, pending or not."""
        event = self.stress.pool.acquire()
        event.record(self.stress.streams[stream])
        event.wait(self.stress.streams[(stream + 1) % STREAMS])
        self.counts["records"] += 1
        self.counts["waits"] += 1


def phase(stress: Stress, operations: int, seed: int, first: int) -> None:
    threads = [Thread(stress, number, seed * THREADS + number, first) for number in range(THREADS)]
    running = [threading.Thread(target=thread.run, args=(operations // THREADS,)) for thread in threads]
    for thread in running:
        thread.start()
    deadline = time.monotonic() + LIMIT
    for thread in running:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), "a thread is stuck"
    et.synchronize("cpu", LIMIT)
    drain_callbacks(stress)
    for one in threads:
        assert not one.errors, one.errors
        stress.counts += one.counts
        stress.wrong_callbacks += one.tally.wrong()
        stress.counts["callbacks"] += len(one.tally.slots)


def drain_callbacks(stress: Stress) -> None:
    """Callbacks run one after the other on one thread: when this one runs, all registered before it have run."""
    gate, notified = threading.Event(), threading.Event()
    stress.streams[0].submit(gate.wait, LIMIT).add_done_callback(lambda future: notified.set())
    gate.set()
    assert notified.wait(LIMIT), "the notifier is stuck"
    stress.streams[0].synchronize(LIMIT)
    stress.counts["extra work"] += 1


def memory(most_threads: int) -> dict[str, int]:
    """Threads that were joined may take a moment to leave the system: it gets a second to come down to most_threads."""
    gc.collect()
    for _ in range(200):
        if len(list(Path("/proc/self/task").iterdir())) <= most_threads:
            break
        time.sleep(0.005)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return {
        "rss": pages * resource.getpagesize(),
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def main(operations: int, phases: int, seed: int) -> None:
    faulthandler.dump_traceback_later(phases * LIMIT, exit=True)
    stress = Stress()
    subscriptions = [et.hooks.on(hook, lambda *_, received=stress.received[hook]: next(received)) for hook in LISTENED]
    began = time.monotonic()
    measured: list[dict[str, int]] = []
    for number in range(phases):
        share = operations // phases
        sys.setswitchinterval(0.005 if number % 2 else 0.00002)  # Python's own, and one that mixes threads finely
        phase(stress, share, seed + number, 1 + number * share)
        measured.append(memory(measured[-1]["threads"] if measured else STREAMS))
    seconds = time.monotonic() - began
    pool = stress.pool.stats()
    for subscription in subscriptions:
        subscription.close()
    answer = {
        "seconds": seconds,
        "counts": stress.counts,
        "ran": sum(stress.ran),
        "ran natively": stress.native.value,
        "out of order": next(stress.out_of_order),
        "wrong callbacks": stress.wrong_callbacks,
        "received": {hook: next(received) for hook, received in stress.received.items()},
        "errors in callbacks": sum(
            et.hooks.statistics(hook)["errors"]
            for hook in ("work_submission", "work_completion", "event_record", "event_wait")
        ),
        "pool": [pool.created, pool.in_use, pool.cached, pool.reused],
        "versions": sum(event.version for event in stress.events),
        "memory": measured,
    }
    for stream in stress.streams:
        stream.close(LIMIT)
    sys.stdout.write(json.dumps(answer) + "\n")


main(*map(int, sys.argv[1:]))
