"""The schedule of a dependency graph by hand: the start of a node is computed from its edges, one by one."""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[int, int, int]  # source, target, lag


def schedule_of(edges: Sequence[Edge], duration: Sequence[int], release: Sequence[int]) -> list[int] | None:
    """Start of each node, or None where nodes wait for each other."""
    into: list[list[Edge]] = [[] for _ in duration]
    for edge in edges:
        into[edge[1]].append(edge)
    start: dict[int, int] = {}
    asked: set[int] = set()

    def of(node: int) -> int | None:
        if node in start:
            return start[node]
        if node in asked:
            return None
        asked.add(node)
        times = [release[node]]
        for source, _, lag in into[node]:
            before = of(source)
            if before is None:
                return None
            times.append(before + duration[source] + lag)
        start[node] = max(times)
        return start[node]

    found = [of(node) for node in range(len(duration))]
    return None if None in found else [time for time in found if time is not None]


def binding_of(
    edges: Sequence[Edge], start: Sequence[int], duration: Sequence[int], release: Sequence[int]
) -> list[int]:
    """For each node the first edge that ends at its start, if that is after its release; else -1."""
    found = [-1] * len(start)
    for number, (source, target, lag) in enumerate(edges):
        late = start[target] > release[target] and start[source] + duration[source] + lag == start[target]
        if late and found[target] < 0:
            found[target] = number
    return found
