"""The races of a program whose works act while they run, by trying every timing with the oracle of stream programs.

A step with "inside": n is done by the function of step n, a work: it signals, receives, submits, records, or accesses
memory, which it may allocate. A work has a moment at which it starts (S) and one at which it is complete (X), and the
steps inside of it lie between the two, in their order. Declared accesses are at any time between S and X; those of a
step inside are at any time from that step on.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tests.reference import sanitizer_oracle
from tests.reference.sanitizer_oracle import Moment, Timings

Op = dict[str, Any]
Pair = tuple[int, int]


def conditions(ops: list[Op], blocks: list[Any]) -> dict[Moment, list[list[Moment]]]:
    """Those of the oracle, with a start of each work and with threads that are functions of works."""
    threads = {
        i: ("inside", op["inside"]) if "inside" in op else ("host", op.get("thread", 0)) for i, op in enumerate(ops)
    }
    numbered = [op | {"thread": threads[i]} for i, op in enumerate(ops)]
    need = sanitizer_oracle.conditions(numbered, blocks)
    for i, op in enumerate(ops):
        if op["op"] == "work":
            need["S", i] = need["X", i]
            last = [j for j, other in enumerate(ops) if other.get("inside") == i][-1:]
            need["X", i] = [[("S", i)], *[[("H", j)] for j in last]]
        if "inside" in op:
            need["H", i] = [*need["H", i], [("S", op["inside"])]]
    return need


def windows(ops: list[Op]) -> list[tuple[int, Moment, Moment, str, int, int, bool]]:
    """Each access: the step that it belongs to, from when and up to when, the buffer, the bytes, whether it writes."""
    out = []
    for i, op in enumerate(ops):
        owner = op.get("inside", i) if op["op"] == "touch" else i
        first: Moment = ("S", i) if op["op"] == "work" else ("H", i)
        last: Moment = ("X", owner) if ops[owner]["op"] == "work" else ("H", i)
        for key in ("reads", "writes"):
            out += [(owner, first, last, a["buffer"], a["from"], a["to"], key == "writes") for a in op.get(key, [])]
    return out


def races(ops: list[Op]) -> dict[Pair, bool] | None:
    """The pairs of steps that race, and whether that is certain: at no time within the works are they in order.

    None: some timing hangs.
    """
    timings = Timings(ops, [], conditions)
    if not timings.complete:
        return None
    out: dict[Pair, bool] = {}
    for a, b in combinations(windows(ops), 2):
        if a[0] == b[0] or a[3] != b[3] or max(a[4], b[4]) >= min(a[5], b[5]) or not (a[6] or b[6]):
            continue
        if timings.before(a[2], b[1]) or timings.before(b[2], a[1]):
            continue
        certain = not timings.before(a[1], b[2]) and not timings.before(b[1], a[2])
        pair = (min(a[0], b[0]), max(a[0], b[0]))
        out[pair] = out.get(pair, False) or certain
    return out
