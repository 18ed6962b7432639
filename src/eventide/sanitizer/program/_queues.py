"""Run a program's queues until no step can run: an order in which everything runs, or the agents that wait forever.

Only timeline semaphores, collectives and blocking host calls among them can hold a queue up; events bind to what is
already recorded. `Queues` keeps one head per host thread and per stream and runs the earliest step that can run; an
agent that cannot is checked again when what it waits for has happened.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable

from eventide.sanitizer.program._program import Program, Step

Agent = tuple[str, Hashable]  # ("stream", 1), ("thread", 0)


class Queues:
    """After `run`, `moves` is what happened: (True, what ran: one step or all of a collective) or (False, a step that
    was submitted and could not run at once).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.moves: list[tuple[bool, list[Step]]] = []
        self.ran: set[int] = set()  # numbers of completed steps
        self.stuck: dict[Agent, Step] = {}
        self.needs: dict[int, list[int]] = {}  # steps that must complete before
        self._queues: dict[Agent, list[Step]] = defaultdict(list)
        self._heads: dict[Agent, int] = defaultdict(int)
        self._submitted: set[int] = set()
        self._signals: dict[Hashable, list[Step]] = defaultdict(list)
        self._reached: dict[Hashable, int] = defaultdict(int)  # semaphores' values
        self._meets: dict[int, list[Step]] = {}  # all ranks' steps of one collective
        self._ranks: dict[str, set[Hashable]] = defaultdict(set)
        self._waiting: dict[Hashable, list[Agent]] = defaultdict(list)  # by what would let them continue
        self._ready: list[tuple[int, str, Agent]] = []
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
                needs = [records[event]] if (event := (step.event, step.life)) in records else []
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
                records[step.event, step.life] = step.number
            elif step.op == "signal_value":
                self._signals[step.semaphore].append(step)
            elif step.op == "collective":
                self._ranks[step.group].add(step.stream)
                turn = turns[step.group, step.name, step.stream]  # the same name again is the next one of that name
                turns[step.group, step.name, step.stream] += 1
                self._meets[step.number] = meeting[step.group, step.name, turn]
                self._meets[step.number].append(step)
            self.needs[step.number] = needs

    @staticmethod
    def _default(step: Step, on: dict[Hashable, list[int]], blocks: set[Hashable]) -> list[int]:
        if step.stream == 0:
            return [on[stream][-1] for stream in blocks if on[stream]]
        return on[0][-1:] if step.stream in blocks else []

    def run(self) -> bool:
        """Whether everything ran."""
        for agent in self._queues:
            self._look(agent)
        while self._ready:
            number, _, agent = heapq.heappop(self._ready)
            step = self._head(agent)
            if step is None or step.number != number:
                continue  # it ran together with others
            if agent[0] == "thread" and step.queued:
                self._submit(agent, step)
            else:
                self._run(agent, step)
        self.stuck = {agent: q[self._heads[agent]] for agent, q in self._queues.items() if self._heads[agent] < len(q)}
        return not self.stuck

    def _submit(self, thread: Agent, step: Step) -> None:
        self._submitted.add(step.number)
        self._heads[thread] += 1
        stream = ("stream", step.stream)
        if self._head(stream) is step and self._held_by(stream, step) is None:
            self._run(stream, step)
        else:
            self.moves.append((False, [step]))
            self._wake(("submitted", step.number))
        self._look(thread)

    def _run(self, agent: Agent, step: Step) -> None:
        together = self._meets[step.number] if step.op == "collective" else [step]
        self.moves.append((True, together))
        agents = [("stream", s.stream) for s in together] if step.op == "collective" else [agent]
        for each, one in zip(agents, together, strict=True):
            self._heads[each] += 1
            self.ran.add(one.number)
        if step.op == "signal_value":
            self._reached[step.semaphore] = max(self._reached[step.semaphore], step.value)
            self._wake(("semaphore", step.semaphore))
        for each, one in zip(agents, together, strict=True):
            self._wake(("ran", one.number))
            self._look(each)

    def _wake(self, what: Hashable) -> None:
        for agent in self._waiting.pop(what, ()):
            self._look(agent)

    def _look(self, agent: Agent) -> None:
        """It can move, or waits for something."""
        step = self._head(agent)
        if step is None:
            return
        held_by = None if agent[0] == "thread" and step.queued else self._held_by(agent, step)
        if held_by is None:
            heapq.heappush(self._ready, (step.number, agent[0], agent))
        else:
            self._waiting[held_by].append(agent)

    def _head(self, agent: Agent) -> Step | None:
        queue, head = self._queues[agent], self._heads[agent]
        return queue[head] if head < len(queue) else None

    def _held_by(self, agent: Agent, step: Step) -> Hashable | None:
        """What must happen before it can run, or at least the first such condition."""
        if agent[0] == "stream" and step.number not in self._submitted:
            return ("submitted", step.number)
        for number in self.needs[step.number]:
            if number not in self.ran:
                return ("ran", number)
        if step.op == "wait_value" and step.value > self._reached[step.semaphore]:
            return ("semaphore", step.semaphore)
        if step.op == "collective" and not self._all_there(step):
            return ("collective", step.number)  # the last one to arrive completes the collective
        return None

    def _all_there(self, step: Step) -> bool:
        together = self._meets[step.number]
        if len(together) < len(self._ranks[step.group]):
            return False
        return all(
            self._head(("stream", s.stream)) is s
            and s.number in self._submitted
            and all(number in self.ran for number in self.needs[s.number])
            for s in together
        )

    def signals(self, wait: Step) -> list[Step]:
        """The first signal of each stream that ends the wait; one behind the wait itself cannot."""
        first: dict[Hashable, Step] = {}
        for s in self._signals[wait.semaphore]:
            if s.value >= wait.value and not (s.stream == wait.stream and s.number > wait.number):
                first.setdefault(s.stream, s)
        return list(first.values())

    def blockers(self, agent: Agent) -> list[tuple[str, list[Agent]]]:
        """What a blocked agent waits for, and which agents could do that; for the report of a deadlock."""
        step = self.stuck[agent]
        if agent[0] == "stream" and step.number not in self._submitted:
            return [(f"thread {step.thread} to submit it", [("thread", step.thread)])]
        out: list[tuple[str, list[Agent]]] = []
        by_number = {s.number: s for s in self.program.steps}
        for number in self.needs[step.number]:
            if number not in self.ran:
                other = by_number[number]
                out.append(
                    (
                        f"step {number} ({other.op})",
                        [("stream", other.stream) if other.queued else ("thread", other.thread)],
                    )
                )
        if step.op == "wait_value" and step.value > self._reached[step.semaphore]:
            agents: list[Agent] = [("stream", s.stream) for s in self.signals(step)]
            out.append((f"semaphore {step.semaphore} to reach {step.value}", agents))
        if step.op == "collective":
            there = {s.stream for s in self._meets[step.number] if self.stuck.get(("stream", s.stream)) is s}
            away = [("stream", rank) for rank in sorted(self._ranks[step.group] - there, key=str)]
            out.append((f"collective {step.name!r}", away))
        return out
