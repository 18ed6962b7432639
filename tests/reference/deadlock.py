"""Which blocking calls inside work close a cycle, when every stream waits for at most one other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def cycles(waits_for: Mapping[int, int]) -> list[frozenset[int]]:
    """The cycles of 'the work of stream a blocks on stream b' (a -> b); each of them costs one DeadlockError."""
    found: set[frozenset[int]] = set()
    for start in waits_for:
        path: list[int] = []
        at = start
        while at in waits_for and at not in path:
            path.append(at)
            at = waits_for[at]
        if at in path:
            found.add(frozenset(path[path.index(at) :]))
    return sorted(found, key=min)
