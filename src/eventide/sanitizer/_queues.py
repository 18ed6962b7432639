"""Run a program's queues until nothing moves: an order in which everything can run, or who waits for whom for ever.

Only timeline semaphores, collectives and blocking host calls among them can hold a queue up; events bind to what is
already recorded. `Queues` keeps one head per host thread and per stream and moves the earliest step that can.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from eventide.sanitizer._program import Program, Step

Agent = tuple[str, Hashable]  # ("stream", 1), ("thread", 0)
COUNTED = {"work", "host", "signal_value", "collective"}  # what the engine's clocks count


class Queues:
    """`submitted` and `ran` are called as it happens; `stop` makes an agent never do more than that many works."""

    def __init__(self, program: Program, stop: tuple[Agent, int] | None = None) -> None:
        self.program = program
        self.ran: set[int] = set()  # numbers of steps that are over
        self.stuck: dict[Agent, Step] = {}
        self._stop = stop
        self._done: dict[Agent, int] = defaultdict(int)  # works and host accesses
        self._queues: dict[Agent, list[Step]] = defaultdict(list)
        self._heads: dict[Agent, int] = defaultdict(int)
        self._submitted: set[int] = set()
        self._needs: dict[int, list[int]] = {}  # steps that must be over before
        self._signals: dict[Hashable, list[Step]] = defaultdict(list)
        self._meets: dict[int, list[Step]] = {}  # all ranks' steps of one collective
        self._ranks: dict[str, set[Hashable]] = defaultdict(set)
        self._prepare()

    def _prepare(self) -> None:
        records: dict[Hashable, int] = {}
        on: dict[Hashable, list[int]] = defaultdict(list)
        signalled: dict[Hashable, list[int]] = defaultdict(list)
        blocks: set[Hashable] = set(self.program.blocks)
        meeting: dict[Hashable, list[Step]] = defaultdict(list)
        turns: Counter[Hashable] = Counter()
        for step in self.program.steps:
            self._queues["thread", step.thread].append(step)
            needs: list[int] = []
            if step.op in {"wait", "synchronize_event"}:
                needs = [records[step.event]] if step.event in records else []
            elif step.op == "synchronize_stream":
                needs = on[step.stream][-1:]
            elif step.op == "synchronize_device":
                needs = [numbers[-1] for numbers in on.values() if numbers]
            elif step.op == "host_wait":
                needs = list(signalled[step.token])
            elif step.op == "host_signal":
                signalled[step.token].append(step.number)
            if step.queued:
                self._queues["stream", step.stream].append(step)
                needs = needs + self._default(step, on, blocks)
                on[step.stream].append(step.number)
            if step.op == "record":
                records[step.event] = step.number
            elif step.op == "signal_value":
                self._signals[step.semaphore].append(step)
            elif step.op == "collective":
                self._ranks[step.group].add(step.stream)
                turn = turns[step.group, step.name, step.stream]  # the same name again is the next one of that name
                turns[step.group, step.name, step.stream] += 1
                self._meets[step.number] = meeting[step.group, step.name, turn]
                self._meets[step.number].append(step)
            self._needs[step.number] = needs

    @staticmethod
    def _default(step: Step, on: dict[Hashable, list[int]], blocks: set[Hashable]) -> list[int]:
        if step.stream == 0:
            return [on[stream][-1] for stream in blocks if on[stream]]
        return on[0][-1:] if step.stream in blocks else []

    def run(
        self,
        submitted: Callable[[Step], None] = lambda _: None,
        ran: Callable[[list[Step]], None] = lambda _: None,
    ) -> bool:
        """Whether everything ran. `ran` gets one step, or all steps of a collective at once."""
        while True:
            ready = [found for agent in self._queues if (found := self._ready(agent))]
            if not ready:
                break
            step, agent = min(ready, key=lambda found: found[0].number)
            if agent[0] == "thread" and step.queued:
                self._submitted.add(step.number)
                self._heads[agent] += 1
                if not self._movable(("stream", step.stream), step):
                    submitted(step)
                    continue
                agent = ("stream", step.stream)
            together = self._meets[step.number] if step.op == "collective" else [step]
            for each in together:
                if each is not step and self._stopped(("stream", each.stream), each):
                    continue  # it has come, but is never over
                self._finish(("stream", each.stream) if step.op == "collective" else agent, each)
            ran(together)
        self.stuck = {agent: q[self._heads[agent]] for agent, q in self._queues.items() if self._heads[agent] < len(q)}
        return not self.stuck

    def _finish(self, agent: Agent, step: Step) -> None:
        self._heads[agent] += 1
        self.ran.add(step.number)
        if step.op in COUNTED:
            self._done[agent] += 1

    def _ready(self, agent: Agent) -> tuple[Step, Agent] | None:
        queue, head = self._queues[agent], self._heads[agent]
        if head == len(queue):
            return None
        step = queue[head]
        if agent[0] == "thread" and step.queued:
            return step, agent
        return (step, agent) if self._movable(agent, step) else None

    def _movable(self, agent: Agent, step: Step) -> bool:
        if agent[0] == "stream" and (step.number not in self._submitted or not self._at_head(step)):
            return False
        if self._stopped(agent, step):
            return False
        if step.op == "collective":
            return self._all_there(step)
        if step.op == "wait_value" and step.value > 0 and not any(s.number in self.ran for s in self.signals(step)):
            return False
        return self._free_to_go(step)

    def _free_to_go(self, step: Step) -> bool:
        return all(number in self.ran for number in self._needs[step.number])

    def _all_there(self, step: Step) -> bool:
        together = self._meets[step.number]
        if len(together) < len(self._ranks[step.group]):
            return False
        return all(s.number in self._submitted and self._at_head(s) and self._free_to_go(s) for s in together)

    def _stopped(self, agent: Agent, step: Step) -> bool:
        return self._stop is not None and (
            self._stop[0] == agent and step.op in COUNTED and self._done[agent] >= self._stop[1]
        )

    def _at_head(self, step: Step) -> bool:
        queue, head = self._queues["stream", step.stream], self._heads["stream", step.stream]
        return head < len(queue) and queue[head] is step

    def signals(self, wait: Step) -> list[Step]:
        """The first signal of each stream that lets the wait go on; one behind the wait itself cannot."""
        first: dict[Hashable, Step] = {}
        for s in self._signals[wait.semaphore]:
            if s.value >= wait.value and not (s.stream == wait.stream and s.number > wait.number):
                first.setdefault(s.stream, s)
        return list(first.values())

    def reaches(self, step: Step) -> bool:
        """Whether this step runs."""
        self.run()
        return step.number in self.ran

    def blockers(self, agent: Agent) -> list[tuple[str, list[Agent]]]:
        """Why a stuck agent does not move, and which agents could change that; for the report of a deadlock."""
        step = self.stuck[agent]
        if agent[0] == "stream" and step.number not in self._submitted:
            return [(f"step {step.number} is not submitted yet", [("thread", step.thread)])]
        out: list[tuple[str, list[Agent]]] = []
        by_number = {s.number: s for s in self.program.steps}
        for number in self._needs[step.number]:
            if number not in self.ran:
                other = by_number[number]
                out.append(
                    (
                        f"step {number} ({other.op})",
                        [("stream", other.stream) if other.queued else ("thread", other.thread)],
                    )
                )
        if step.op == "wait_value" and not any(s.number in self.ran for s in self.signals(step)):
            agents: list[Agent] = [("stream", s.stream) for s in self.signals(step)]
            out.append((f"semaphore {step.semaphore} to reach {step.value}", agents))
        if step.op == "collective":
            there = {s.stream for s in self._meets[step.number] if self.stuck.get(("stream", s.stream)) is s}
            away = [("stream", rank) for rank in sorted(self._ranks[step.group] - there, key=str)]
            out.append((f"collective {step.name!r}", away))
        return out
