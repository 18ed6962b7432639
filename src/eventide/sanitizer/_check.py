"""The verdict of a stream program, through the same engine that watches live programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eventide._native import Sanitizer
from eventide.sanitizer._finding import Access, Finding, finding_from_native
from eventide.sanitizer._program import Program, Step, parse
from eventide.sanitizer._queues import COUNTED, Agent, Queues

# The worst first: a program that hangs never comes to the rest, memory with two owners is worse than a wrong order, and
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
    return _Checker(parse(program), predict).check()


class _Checker:
    """Feeds the engine in an order in which the steps can run."""

    def __init__(self, program: Program, predict: bool) -> None:
        self.program = program
        self.engine = Sanitizer(predict=predict)
        self._ids: dict[tuple[str, Hashable], int] = {}
        self._leave = False
        self._created: dict[Hashable, dict[str, Any]] = {}  # events, and where
        self._queues = Queues(program)
        self._may_be_late = any(step.op in {"wait_value", "collective"} for step in program.steps)
        self._late: set[int] = set()  # submitted, but could not run at once

    def check(self) -> list[Finding]:
        for stream in self.program.blocks:
            self.engine.create_stream(self._stream(stream), 0, self._stream(0))
        for address, name in self.program.outside.items():
            self.engine.allocate(address, self.program.sizes[address], name=name)
        for address, number in self.program.ghosts.items():
            step = self.program.steps[number - 1]
            self.engine.allocate(address, self.program.sizes[address], name=step.buffer)
            self.engine.free(address, idle=True, **self._on(step), **self._at(step))
        over = self._queues.run(self._submitted, self._ran)
        self.engine.finish(leaks=self._leave)
        findings = [self._named(finding_from_native(raw)) for raw in self.engine.findings()]
        return findings if over else [*_deadlocks(self._queues), *findings]

    def _stream(self, stream: Hashable) -> int:
        """Numbers stay as they are for the reports; names get numbers of their own."""
        return stream if isinstance(stream, int) and 0 <= stream < 1 << 32 else self._id("stream", stream) + (1 << 32)

    def _id(self, kind: str, label: Hashable) -> int:
        return self._ids.setdefault((kind, label), len(self._ids) + 1)

    def _thread(self, step: Step) -> int:
        return self._id("thread", step.thread)

    def _named(self, finding: Finding) -> Finding:
        """Ids of the engine back to what the program calls them."""
        labels: dict[Any, Any] = {(kind, number): label for (kind, label), number in self._ids.items()}
        streams: dict[Any, Any] = {self._stream(label): label for (kind, label) in self._ids if kind == "stream"}

        def event(number: Any) -> Any:
            label = labels.get(("event", number), 0)
            return label[0] if isinstance(label, tuple) else label

        def side(access: Access) -> Access:
            return replace(
                access,
                stream=streams.get(access.stream, access.stream),
                thread=labels.get(("thread", access.thread), access.thread),
                name=access.name or f"step {access.work}",
            )

        fix = finding.fix
        return replace(
            finding,
            first=finding.first and side(finding.first),
            second=side(finding.second),
            buffer_name=finding.buffer_name or self.program.names.get(self.program.buffer_at(finding.buffer), ""),
            event=event(finding.event),
            fix=replace(
                fix,
                event=event(fix.event),
                recorded=fix.recorded and not self._may_be_late,
                stream=streams.get(fix.stream, fix.stream),
            ),
        )

    def _submitted(self, step: Step) -> None:
        self._late.add(step.number)
        self.engine.mark_thread(step.number, self._thread(step))

    def _ran(self, steps: list[Step]) -> None:
        if steps[0].op == "collective":
            self.engine.collective([(self._stream(s.stream), self._thread(s), self._past(s)) for s in steps])
            return
        for step in steps:
            getattr(self, "_" + step.op)(step, self._at(step))

    def _past(self, step: Step) -> int:
        return step.number if step.number in self._late else 0

    def _at(self, step: Step) -> dict[str, Any]:
        return {
            "thread": self._thread(step),
            "stack": step.number,
            "work": step.number,
            "name": step.buffer if step.op == "allocate" else step.name,
            "past": self._past(step),
        }

    def _work(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.submit(self._stream(step.stream), step.reads, step.writes, True, **at)

    def _host(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.host_access(step.reads, step.writes, **at)

    def _record(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.record(self._event(step), self._stream(step.stream), step.version, **at)

    def _wait(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.wait(self._event(step), self._stream(step.stream), step.version, **at)

    def _synchronize_event(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.synchronize_event(self._event(step), step.version, **at)

    def _synchronize_stream(self, step: Step, at: dict[str, Any]) -> None:
        if self._overtaken(step):
            self.engine.synchronize_known(*self._sure(step), **at)
            return
        self.engine.synchronize_stream(self._stream(step.stream), **at)

    def _synchronize_device(self, step: Step, at: dict[str, Any]) -> None:
        if self._overtaken(step):
            self.engine.synchronize_known(*self._sure(step), **at)
            return
        self.engine.synchronize_device(**at)

    def _overtaken(self, sync: Step) -> bool:
        """While it waited, or its thread did, others have gone on: it waits for what was there before it."""
        later = (s for s in self.program.steps[sync.number :] if s.queued and s.number in self._queues.ran)
        return any(sync.stream is None or s.stream == sync.stream for s in later)

    def _allocate(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.allocate(step.address, self.program.sizes[step.address], **self._on(step), **at)

    def _free(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.free(step.address, **self._on(step), **at)

    def _record_stream(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.record_stream(step.address, self._stream(step.stream), **at)

    def _create_event(self, step: Step, at: dict[str, Any]) -> None:
        self._created[step.event] = at

    def _delete_event(self, step: Step, _: dict[str, Any]) -> None:
        self._created.pop(step.event, None)

    def _signal_value(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.signal((1 << 32) + step.number, self._stream(step.stream), **at)

    def _wait_value(self, step: Step, at: dict[str, Any]) -> None:
        signals = self._queues.signals(step) if step.value > 0 else []
        if len(signals) == 1:
            self.engine.wait_signal((1 << 32) + signals[0].number, self._stream(step.stream), **at)
            return
        self.engine.wait_known(self._stream(step.stream), *self._sure(step), **at)

    def _sure(self, step: Step) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """How much of each stream and each thread is over when a step is, whatever the timing."""
        streams, threads = [], []
        for (kind, label), count in self._needed(step).items():
            if kind == "stream":
                streams.append((self._stream(label), count))
            else:
                threads.append((self._id("thread", label), count))
        return streams, threads

    def _needed(self, wait: Step) -> dict[Agent, int]:
        """What is over whichever of several signals comes first: how much of each agent the wait cannot do without."""
        works: Counter[Agent] = Counter()
        for step in self.program.steps:
            if step.op in COUNTED:
                works["stream" if step.queued else "thread", step.stream if step.queued else step.thread] += 1
        if wait.op == "wait_value" and wait.value <= 0:
            return {}
        sure = {}
        for agent, total in works.items():
            low, high = 0, total
            while low < high:
                middle = (low + high) // 2
                if Queues(self.program, stop=(agent, middle)).reaches(wait):
                    high = middle
                else:
                    low = middle + 1
            sure[agent] = low
        return sure

    def _host_signal(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.host_signal(self._id("token", step.token), **at)

    def _host_wait(self, step: Step, at: dict[str, Any]) -> None:
        self.engine.host_wait(self._id("token", step.token), **at)

    def _exit(self, _: Step, __: dict[str, Any]) -> None:
        self._leave = True
        for event, at in self._created.items():
            self.engine.create_event(self._id("event", event), **at)

    def _on(self, step: Step) -> dict[str, Any]:
        return {} if step.stream is None else {"stream": self._stream(step.stream)}

    def _event(self, step: Step) -> int:
        """Where a wait may run late, each version is an event of its own: the engine keeps only the newest few."""
        return self._id("event", (step.event, step.version) if self._may_be_late else step.event)


def _deadlocks(queues: Queues) -> list[Finding]:
    """One finding: a circle of agents that wait for each other, or one that waits for what nobody will ever do."""
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
            texts[-1] += ", which nobody will do" if not others else f", which {others[0][0]} {others[0][1]} never does"
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
    return Access(what, work=step.number, name=step.name or f"step {step.number}", stream=stream, thread=step.thread)
