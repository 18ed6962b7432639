"""Do to a program what a finding advises. Steps carry a mark `_id`, so that a finding can be looked for afterwards."""

from __future__ import annotations

import copy
from typing import Any

from eventide.sanitizer import Access, Finding

Program = dict[str, Any]
Op = dict[str, Any]


def marked(program: Program) -> Program:
    out = copy.deepcopy(program)
    for n, op in enumerate(out["ops"]):
        op.setdefault("_id", n)
    return out


def identity(program: Program, finding: Finding) -> tuple[Any, ...]:
    """What the finding refers to, whatever was inserted before it."""

    def mark(side: Access | None) -> Any:
        return None if side is None else program["ops"][side.work - 1]["_id"]

    return (finding.kind, mark(finding.first), mark(finding.second))


def applied(program: Program, finding: Finding) -> Program:
    """The program with the advice followed."""
    out = copy.deepcopy(program)
    ops: list[Op] = out["ops"]
    fix, second = finding.fix, ops[finding.second.work - 1]
    first = None if finding.first is None else ops[finding.first.work - 1]
    thread = {"thread": finding.second.thread}
    if fix.action in {"wait", "synchronize"}:
        assert first is not None and finding.first is not None
        event: Any = fix.event if fix.recorded else f"fix {len(ops)}"
        if not fix.recorded:
            record = {"op": "record", "event": event, "stream": fix.stream, "thread": finding.first.thread}
            _insert_after(ops, first, record)
        if fix.action == "wait":
            _insert_before(ops, second, {"op": "wait", "event": event, "stream": finding.second.stream, **thread})
        else:
            _insert_before(ops, second, {"op": "synchronize_event", "event": event, **thread})
    elif fix.action == "hand-over":
        assert first is not None and finding.first is not None
        token = f"fix {len(ops)}"
        _insert_after(ops, first, {"op": "host_signal", "token": token, "thread": finding.first.thread})
        _insert_before(ops, second, {"op": "host_wait", "token": token, **thread})
    elif fix.action == "record-stream":
        _hold(ops, finding, second)
    elif fix.action == "free-later":
        assert first is not None
        for op in ops[ops.index(first) : ops.index(second)]:
            if op.get("reuses") is not None:
                del op["reuses"]  # what is freed later is not there to be taken
        ops.remove(first)
        _insert_after(ops, second, first)
    elif fix.action == "remove":
        ops.remove(second)
    elif fix.action == "give-back":
        back = {"op": "delete_event", "event": finding.event} if finding.event else {}
        later = ops[ops.index(second) + 1 :]
        again = [op for op in later if op["op"] == "create_event" and op["event"] == finding.event]
        _insert_before(ops, (again or ops)[0 if again else -1], back or {"op": "free", "buffer": finding.buffer_name})
    else:
        raise AssertionError(f"no advice in {finding}")
    return out


def _hold(ops: list[Op], finding: Finding, second: Op) -> None:
    """record_stream before the free that came too early: the second side, or the last before it of that memory."""
    frees = [op for op in ops[: ops.index(second) + 1] if op["op"] == "free"]
    if second["op"] != "free":
        first = ops[finding.first.work - 1]  # type: ignore[union-attr]
        used = {a["buffer"] for key in ("reads", "writes") for a in first.get(key, [])}
        frees = [op for op in frees if op["buffer"] in used and ops.index(op) > ops.index(first)]
        frees = frees[:1]
    _insert_before(ops, frees[-1], {"op": "record_stream", "buffer": frees[-1]["buffer"], "stream": finding.fix.stream})


def _insert_after(ops: list[Op], where: Op, new: Op) -> None:
    new.setdefault("_id", f"new {len(ops)}")
    ops.insert(ops.index(where) + 1, new)


def _insert_before(ops: list[Op], where: Op, new: Op) -> None:
    new.setdefault("_id", f"new {len(ops)}")
    ops.insert(ops.index(where), new)
