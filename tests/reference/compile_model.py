"""What compile callbacks must receive, in plain Python: steps of several threads, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class CompileModel:
    """`received`: start and end callbacks; `records`: (id, thread, depth, ok) of each compile, as it ends."""

    received: list[tuple[str, str]] = field(default_factory=list)
    records: list[tuple[str, str, int, bool]] = field(default_factory=list)
    stacks: dict[str, list[str]] = field(default_factory=dict)
    outermost: str = ""

    @property
    def running(self) -> int:
        return sum(map(len, self.stacks.values()))

    def enter(self, thread: str, compile_id: str) -> None:
        if self.running == 0:
            self.outermost = compile_id
            self.received.append(("start", compile_id))
        self.stacks.setdefault(thread, []).append(compile_id)

    def leave(self, thread: str, *, ok: bool) -> None:
        compile_id = self.stacks[thread].pop()
        if self.running == 0:
            self.received.append(("end", self.outermost))
        self.records.append((compile_id, thread, len(self.stacks[thread]), ok))
