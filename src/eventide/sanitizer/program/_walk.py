"""Feed the steps of a program to the engine, in an order in which they can run, and map its findings to their names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from eventide._native import Sanitizer
from eventide.sanitizer._finding import Access, Finding, finding_from_native
from eventide.sanitizer.program._program import Program, Step
from eventide.sanitizer.program._queues import Queues

Over = dict[tuple[bool, int], int]  # how many steps completed on each (is a thread, id of the engine)
SIGNAL = 1 << 32  # tokens of signals; below are those of steps


def walk(program: Program, queues: Queues, predict: bool) -> list[Finding]:
    """The engine's findings. `queues` have run.

    Which of several signals lets a wait go on depends on the timing: sure is what all of them bring. What a later one
    brings is known only after a walk, so the program is walked until nothing changes; what is sure only becomes less.
    """
    signals: dict[int, Over] = {}
    while True:
        walker = _Walker(program, queues, predict, signals)
        walker.walk()
        if walker.signals == signals:
            return walker.findings()
        signals = walker.signals


def _utf8(name: str) -> str:
    """The name as the engine takes it: JSON may hold half of a surrogate pair, UTF-8 may not."""
    return name.encode("utf-8", "backslashreplace").decode()


class _Walker:
    """One walk. `before` is what the signals brought in the last one."""

    def __init__(self, program: Program, queues: Queues, predict: bool, before: dict[int, Over]) -> None:
        self.program = program
        self.signals: dict[int, Over] = {}  # those that have alternatives and that ran: what is complete at each
        self._several: set[int] = set()  # all of them
        self._before = before
        self._queues = queues
        self._can_be_held_up = any(step.op in {"wait_value", "collective"} for step in program.steps)
        self._engine = Sanitizer(predict=predict, numbered=self._can_be_held_up)
        self._ids: dict[tuple[str, Hashable], int] = {}
        self._leave = False
        self._created: dict[tuple[Hashable, int], dict[str, Any]] = {}  # events (name, life), and where
        self._late: set[int] = set()  # submitted, but could not run at once
        self._newest: dict[Hashable, int] = {}  # by stream: the step with the greatest number that ran; None: of all

    def walk(self) -> None:
        for stream in self.program.blocks:
            self._engine.create_stream(self._stream(stream), 0, self._stream(0))
        for address, name in self.program.outside.items():
            self._engine.allocate(address, self.program.sizes[address], name=_utf8(name))
        for address, number in self.program.ghosts.items():
            step = self.program.steps[number - 1]
            self._engine.allocate(address, self.program.sizes[address], name=_utf8(step.buffer))
            self._engine.free(address, idle=True, **self._on(step), **self._at(step))
        for ran, steps in self._queues.moves:
            if ran:
                self._ran(steps)
            else:
                self._late.add(steps[0].number)
                self._engine.mark_thread(steps[0].number, self._thread(steps[0]))
        for number in self._several:
            self._over_at(number)

    def findings(self) -> list[Finding]:
        self._engine.finish(leaks=self._leave)
        labels: dict[Any, Any] = {
            (kind, number): label for (kind, label), number in self._ids.items() if kind != "stream"
        }
        labels |= {("stream", self._stream(label)): label for (kind, label) in self._ids if kind == "stream"}
        return [self._named(finding_from_native(raw), labels) for raw in self._engine.findings()]

    def _ran(self, steps: list[Step]) -> None:
        if steps[0].op == "collective":
            ranks = [(self._stream(s.stream), self._thread(s), s.number, self._past(s)) for s in steps]
            self._engine.collective(ranks)
        else:
            getattr(self, "_" + steps[0].op)(steps[0], self._at(steps[0]))
        for step in steps:
            if step.queued:
                for label in (step.stream, None):
                    self._newest[label] = max(self._newest.get(label, 0), step.number)

    def _stream(self, stream: Hashable) -> int:
        """Numbers stay as they are for the reports; names get numbers of their own."""
        return stream if isinstance(stream, int) and 0 <= stream < 1 << 32 else self._id("stream", stream) + (1 << 32)

    def _id(self, kind: str, label: Hashable) -> int:
        return self._ids.setdefault((kind, label), len(self._ids) + 1)

    def _thread(self, step: Step) -> int:
        return self._id("thread", step.thread)

    def _past(self, step: Step) -> int:
        return step.number if step.number in self._late else 0

    def _at(self, step: Step) -> dict[str, Any]:
        return {
            "thread": self._thread(step),
            "stack": step.number,
            "work": step.number,
            "name": _utf8(step.buffer if step.op == "allocate" else step.name),
            "past": self._past(step),
        }

    def _on(self, step: Step) -> dict[str, Any]:
        return {} if step.stream is None else {"stream": self._stream(step.stream)}

    def _event(self, step: Step) -> int:
        """Where a wait may run late, each version is an event of its own: the engine keeps only the newest few."""
        return self._id("event", (step.event, step.life, step.version if self._can_be_held_up else 0))

    def _work(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.submit(self._stream(step.stream), step.reads, step.writes, True, **at)

    def _host(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.host_access(step.reads, step.writes, **at)

    def _record(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.record(self._event(step), self._stream(step.stream), step.version, **at)

    def _wait(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.wait(self._event(step), self._stream(step.stream), step.version, **at)

    def _synchronize_event(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.synchronize_event(self._event(step), step.version, **at)

    def _synchronize_stream(self, step: Step, at: dict[str, Any]) -> None:
        if not self._overtaken(step, at):
            self._engine.synchronize_stream(self._stream(step.stream), **at)

    def _synchronize_device(self, step: Step, at: dict[str, Any]) -> None:
        if not self._overtaken(step, at):
            self._engine.synchronize_device(**at)

    def _overtaken(self, sync: Step, at: dict[str, Any]) -> bool:
        """While it waited, or its thread did, others have gone on: it waits for what was there before it."""
        if self._newest.get(sync.stream, 0) < sync.number:
            return False
        self._engine.synchronize_numbered(self._queues.needs[sync.number], **at)
        return True

    def _allocate(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.allocate(step.address, self.program.sizes[step.address], **self._on(step), **at)

    def _free(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.free(step.address, **self._on(step), **at)

    def _record_stream(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.record_stream(step.address, self._stream(step.stream), **at)

    def _create_event(self, step: Step, at: dict[str, Any]) -> None:
        self._created[step.event, step.life] = at

    def _delete_event(self, step: Step, _: dict[str, Any]) -> None:
        self._created.pop((step.event, step.life), None)
        if not self._can_be_held_up:  # else a wait that was submitted before may still run
            self._engine.delete_event(self._event(step))

    def _exit(self, _: Step, __: dict[str, Any]) -> None:
        self._leave = True
        for (event, life), at in self._created.items():
            self._engine.create_event(self._id("event", (event, life, 0)), **at)

    def _signal_value(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.signal(SIGNAL + step.number, self._stream(step.stream), **at)

    def _wait_value(self, step: Step, at: dict[str, Any]) -> None:
        signals = self._queues.signals(step) if step.value > 0 else []
        if len(signals) == 1:
            self._engine.wait_signal(SIGNAL + signals[0].number, self._stream(step.stream), **at)
            return
        numbers = [s.number for s in signals]
        self._several.update(numbers)
        self._engine.wait_known(self._stream(step.stream), _common(map(self._over_at, numbers)), **at)

    def _over_at(self, signal: int) -> Over | None:
        """None: a later signal has no result yet."""
        if signal not in self.signals:
            over = self._engine.over_at(signal)
            if not over:
                return self._before.get(signal)
            self.signals[signal] = over
        return self.signals[signal]

    def _host_signal(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.host_signal(self._id("token", step.token), **at)

    def _host_wait(self, step: Step, at: dict[str, Any]) -> None:
        self._engine.host_wait(self._id("token", step.token), **at)

    def _named(self, finding: Finding, labels: dict[Any, Any]) -> Finding:
        """Ids of the engine, mapped back to the names of the program. labels: by kind and id."""

        def event(number: Any) -> Any:
            return labels.get(("event", number), (0,))[0]

        def side(access: Access) -> Access:
            return replace(
                access,
                stream=labels.get(("stream", access.stream), access.stream),
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
            fix=replace(fix, event=event(fix.event), stream=labels.get(("stream", fix.stream), fix.stream)),
        )


def _common(all_of_them: Iterable[Over | None]) -> Over:
    """What is complete at each of them."""
    out: Over | None = None
    for over in all_of_them:
        if over is not None:
            out = over if out is None else {a: min(n, over[a]) for a, n in out.items() if a in over}
        if out == {}:
            break
    return out or {}
