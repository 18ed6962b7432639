"""Against torch's CUDA sanitizer, driven directly: on what both can express they agree, and every disagreement
elsewhere is one of its known faults (numbers 33 to 36 of the upstream failures that the design lists).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eventide.sanitizer import check_program, check_program_findings
from tests.property.stream_programs import random_program

pytestmark = pytest.mark.heavy
CORPUS = Path(__file__).resolve().parents[1] / "corpus"
KNOWN = [program for path in sorted(CORPUS.glob("*.json")) for program in json.loads(path.read_text("utf-8"))]
# What its handler has no word for.
UNKNOWN = {"wait_value", "signal_value", "collective", "host_signal", "host_wait", "exit", "record_stream"}
WRONG = {"race", "use-after-free", "missing-record-stream"}


def torch_finds_a_race(program: dict[str, Any]) -> bool:
    """Its handler gets each step as torch would report it: base pointers, no threads, nothing about the host."""
    from torch.cuda._sanitizer import EventHandler

    handler = EventHandler()
    bases: dict[str, int] = {}
    found = False

    def pointers(accesses: list[dict[str, Any]]) -> set[int]:
        return {bases.setdefault(a["buffer"], (len(bases) + 1) << 20) + a["from"] for a in accesses}

    for op in program["ops"]:
        kind = op["op"]
        if kind == "work":
            writes = pointers(op.get("writes", []))
            reads = pointers(op.get("reads", [])) - writes
            aliases: dict[int, list[str]] = {pointer: [] for pointer in reads | writes}
            found |= bool(handler._handle_kernel_launch(op["stream"], reads, writes, set(), "work", aliases))
        elif kind in {"record", "wait"}:
            getattr(handler, f"_handle_event_{kind}")(hash(op["event"]), op["stream"])
        elif kind == "synchronize_event":
            handler._handle_event_synchronization(hash(op["event"]))
        elif kind == "synchronize_stream":
            handler._handle_stream_synchronization(op["stream"])
        elif kind == "synchronize_device":
            handler._handle_device_synchronization()
        elif kind == "allocate":
            bases[op["buffer"]] = bases[op["reuses"]] if "reuses" in op else (len(bases) + 1) << 20
            handler._handle_memory_allocation(bases[op["buffer"]])
        elif kind == "free":
            handler._handle_memory_deallocation(bases.setdefault(op["buffer"], (len(bases) + 1) << 20))
    return found


def explanations(program: dict[str, Any]) -> set[int]:
    """Which of the known faults the program could run into."""
    ops = program["ops"]
    accesses = [a for op in ops for key in ("reads", "writes") for a in op.get(key, [])]
    out = set()
    if any(
        (a["from"], a["to"]) != (b["from"], b["to"]) for a in accesses for b in accesses if a["buffer"] == b["buffer"]
    ):
        out.add(33)  # keyed by base pointer
    if any(op["op"] in {"free", "allocate"} for op in ops):
        out.add(34)  # a free removes it
    if len({op.get("thread", 0) for op in ops}) > 1:
        out.add(35)  # one host clock
    if any(op["op"] == "host" for op in ops):
        out.add(36)  # the host is not seen
    return out


def wrong(program: dict[str, Any]) -> bool:
    return bool({finding.kind for finding in check_program_findings(program)} & WRONG)


def expressible(program: dict[str, Any]) -> dict[str, Any]:
    """The part that both support: one thread, whole buffers, works, events and synchronizations."""
    kinds = {"work", "record", "wait", "synchronize_event", "synchronize_stream", "synchronize_device"}
    ops = [{key: value for key, value in op.items() if key != "thread"} for op in program["ops"] if op["op"] in kinds]
    for op in ops:
        for key in {"reads", "writes"} & set(op):
            op[key] = [{"buffer": a["buffer"], "from": 0, "to": 64} for a in op[key]]
    return {"ops": ops}


def test_on_what_both_can_express_they_agree() -> None:
    races = 0
    for seed in range(2000):
        program = expressible(random_program(seed, 14))
        races += wrong(program)
        assert wrong(program) == torch_finds_a_race(program), json.dumps(program)
    assert 500 < races < 1500


def test_every_disagreement_is_one_of_its_known_faults() -> None:
    agreed, explained = 0, set()
    for program in KNOWN:
        if "default_stream_blocks" in program or any(
            op["op"] in UNKNOWN - {"exit", "record_stream"} for op in program["ops"]
        ):
            continue
        if torch_finds_a_race(program) == (program["verdict"] in {"race", "use-after-free"}):
            agreed += 1
            continue
        assert explanations(program), f"{program['title']}: nothing explains it"
        explained |= explanations(program)
    assert explained == {33, 34, 35, 36}
    assert agreed > 30


@pytest.mark.parametrize(
    ("number", "title"),
    [
        (33, "overlapping slices"),
        (34, "reuse on another stream, not ordered"),
        (35, "a synchronize in one thread says nothing to another"),
        (36, "synchronized the wrong stream"),
    ],
)
def test_each_known_fault_shows(number: int, title: str) -> None:
    (program,) = [p for p in KNOWN if p["title"] == title]
    assert number in explanations(program)
    assert not torch_finds_a_race(program)
    assert check_program(program) == program["verdict"] != "ok"
