"""What an EventPool is: a stack of events kept for reuse, each with its id for life."""

from __future__ import annotations

from dataclasses import dataclass, field


class UnknownIdError(Exception):
    """The model's word for an id that is not in use."""


@dataclass
class Pool:
    """Ids are the model's own, 0 and up; `created` and `reused` count acquisitions, never going down."""

    free: list[int] = field(default_factory=list)
    in_use: set[int] = field(default_factory=set)
    created: int = 0
    reused: int = 0

    def acquire(self) -> int:
        """The event released last, or a new one."""
        if self.free:
            self.reused += 1
            event = self.free.pop()
        else:
            event = self.created
            self.created += 1
        self.in_use.add(event)
        return event

    def release(self, event: int) -> None:
        if event not in self.in_use:
            raise UnknownIdError(event)
        self.in_use.remove(event)
        self.free.append(event)

    def empty_cache(self) -> None:
        self.free.clear()

    def stats(self) -> tuple[int, int, int, int]:
        """(created, in_use, cached, reused), in the order of PoolStats."""
        return self.created, len(self.in_use), len(self.free), self.reused
