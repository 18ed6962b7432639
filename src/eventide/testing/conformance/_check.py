"""The type of a check: a function whose name is a sentence, the promise it checks, and the capabilities it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventide.testing.conformance._bench import Bench

    Function = Callable[[Bench], None]


@dataclass(frozen=True)
class Check:
    """One check. ``name`` is a sentence, ``promise`` is a name in docs/semantics.md such as "order-within-stream"."""

    promise: str
    name: str
    needs: tuple[str, ...]  # capabilities without which it is skipped
    function: Function = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.promise}: {self.name}"


REGISTRY: list[Check] = []


def check(promise: str, *needs: str) -> Callable[[Function], Function]:
    """Register a function as the check of a promise; its name is the sentence."""

    def register(function: Function) -> Function:
        REGISTRY.append(Check(promise, function.__name__.replace("_", " "), needs, function))
        return function

    return register
