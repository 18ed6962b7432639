"""What a check is: a function whose name is a sentence, the number of its decision, and the capabilities it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventide.testing.conformance._bench import Bench

    Function = Callable[[Bench], None]


@dataclass(frozen=True)
class Check:
    """One check. ``name`` is a sentence, ``decision`` such as "3.4" is chapter and number in docs/design.md."""

    decision: str
    name: str
    needs: tuple[str, ...]  # capabilities without which it is skipped
    function: Function = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.decision} {self.name}"


REGISTRY: list[Check] = []


def check(decision: str, *needs: str) -> Callable[[Function], Function]:
    """Register a function as the check of a decision; its name is the sentence."""

    def register(function: Function) -> Function:
        REGISTRY.append(Check(decision, function.__name__.replace("_", " "), needs, function))
        return function

    return register
