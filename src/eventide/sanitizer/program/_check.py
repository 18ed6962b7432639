"""The verdict of a stream program, from the engine that also checks live programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eventide.sanitizer._finding import Access, Finding
from eventide.sanitizer.program._program import Step, parse
from eventide.sanitizer.program._queues import Agent, Queues
from eventide.sanitizer.program._walk import walk

# The worst first: a program that hangs runs nothing after that, memory with two owners is worse than a wrong order, and
# what is only wasteful comes last. Never "ok" while there is a finding.
VERDICTS = {
    "deadlock": ("deadlock",),
    "use-after-free": ("use-after-free", "missing-record-stream"),
    "race": ("race",),
    "leak": ("leak",),
    "redundant-wait": ("redundant-wait", "redundant-sync", "wait-on-unrecorded"),
}


def check_program(program: Mapping[str, Any], *, predict: bool = False) -> str:
    """``ok``, ``race``, ``use-after-free``, ``redundant-wait``, ``deadlock`` or ``leak``."""
    return verdict(check_program_findings(program, predict=predict))


def verdict(findings: Sequence[Finding]) -> str:
    """The one word for findings: the worst of them."""
    kinds = {finding.kind for finding in findings}
    return next((word for word, of in VERDICTS.items() if kinds & set(of)), "ok")


def check_program_findings(program: Mapping[str, Any], *, predict: bool = False) -> list[Finding]:
    """What is wrong with a program; in each access `work` is the number of the step, counted from 1."""
    parsed = parse(program)
    queues = Queues(parsed)
    over = queues.run()
    findings = walk(parsed, queues, predict)
    return findings if over else [*_deadlocks(queues), *findings]


def _deadlocks(queues: Queues) -> list[Finding]:
    """One finding: a cycle of agents that wait for each other, or one that waits for what no agent will do."""
    agent = next(a for a in queues.stuck if a[0] == "stream" or queues.stuck[a].op.startswith("synchronize"))
    path: list[Agent] = []
    texts: list[str] = []
    while agent not in path:
        path.append(agent)
        step = queues.stuck[agent]
        reasons = queues.blockers(agent)
        what, others = next((r for r in reasons if any(a in queues.stuck for a in r[1])), reasons[0])
        texts.append(f"{agent[0]} {agent[1]} (step {step.number}, {step.op}) waits for {what}")
        following = [a for a in others if a in queues.stuck]
        if not following:
            texts[-1] += ", which never happens" if not others else f", which {others[0][0]} {others[0][1]} never does"
            break
        agent = following[0]
    else:
        texts = texts[path.index(agent) :]
        texts.append(f"and so on: back to {agent[0]} {agent[1]}")
        path = path[path.index(agent) :]
    sides = [_side(queues.stuck[a], a) for a in path]
    return [Finding("deadlock", True, sides[0] if len(sides) > 1 else None, sides[-1], text="; ".join(texts))]


def _side(step: Step, agent: Agent) -> Access:
    stream: Any = step.stream if agent[0] == "stream" else None
    what = "wait" if agent[0] == "stream" else "synchronize"
    name = step.name if step.name and step.op != "collective" else f"step {step.number}"  # a collective's is no label
    return Access(what, work=step.number, name=name, stream=stream, thread=step.thread, stack_id=step.number)
