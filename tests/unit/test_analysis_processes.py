"""Which rank the others waited for: in the steps, not in the collectives before them; and what it did meanwhile."""

from __future__ import annotations

import eventide as et
from eventide.analysis import Straggler, processes

MS = 1_000_000
STEP, START = 100, 5000  # ms: the length of a step; when the first one begins


def rank(number: int, started: int, augments: int, *, steps: bool = True) -> tuple[str, et.Trace]:
    """Three steps of this rank, which computes `augments` in each, and is at its first collective from `started` on."""
    spans = [("gloo:all_gather", "communication", started, START - started)]
    samples = [(time, "setup" if time < started else "wait") for time in range(started - 50, START, 10)]
    for step in range(3):
        at = START + STEP * step
        spans += [("ProfilerStep#0", "step", at, STEP)] if steps else []
        spans.append(("gloo:all_reduce", "communication", at + augments, STEP - augments))
        samples += [(at + ms, "augment" if ms < augments else "wait") for ms in range(0, STEP, 10)]
    frames = [[{"function": name, "file": "/p/a.py", "line": 1}] for _, name in samples]
    tables = {
        "tracks": {"kind": ["thread"], "name": ["main"], "tid": [number + 1], "pid": [number + 1]},
        "spans": {
            "track": [0] * len(spans),
            "name": [each[0] for each in spans],
            "category": [each[1] for each in spans],
            "start": [each[2] * MS for each in spans],
            "duration": [each[3] * MS for each in spans],
        },
        "instants": {
            "track": [0] * len(samples),
            "name": ["x"] * len(samples),
            "category": ["sample"] * len(samples),
            "time": [each[0] * MS for each in samples],
            "stack": list(range(len(samples))),
            "args": ['{"waiting": true}' if name == "wait" else None for _, name in samples],
        },
        "stacks": {"frames": frames},
    }
    about = {"pid": number + 1, "rank": number, "world_size": 3, "kind": "python"}
    return f"rank{number}", et.Trace(tables, {"source": "eventide", "process": about, "run": {"sample_ns": 10 * MS}})


def test_the_rank_that_is_slow_in_each_step_is_named_although_another_one_started_late():
    found = processes([rank(0, 1000, 10), rank(1, 4900, 10), rank(2, 2000, 60)])
    # 40 ms in three collectives for rank 2, 90 ms for the others; 6 samples a step against 1, of 10 ms each
    assert found.straggler == Straggler(2, 150 * MS, "augment (a.py)", 150 * MS)


def test_without_steps_the_first_collective_is_left_out():
    found = processes([rank(n, at, 10 + 50 * (n == 2), steps=False) for n, at in enumerate((1000, 4900, 2000))])
    assert found.straggler == Straggler(2, 150 * MS, "augment (a.py)", 150 * MS)


def test_a_late_start_alone_is_no_straggler():
    assert processes([rank(0, 1000, 10), rank(1, 4900, 10), rank(2, 2000, 10)]).straggler is None
