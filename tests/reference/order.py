"""Which orders of execution a Model allows: a log of what ran has to be a linear extension of happens-before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tests.reference.stream_model import Model, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Entry = tuple[Literal["start", "end"], int]


def predecessors(model: Model) -> dict[int, frozenset[int]]:
    """Work item -> every work item that must be complete before it starts."""
    return {node: work.before & model.works.keys() for node, work in model.works.items()}


def violation(before: Mapping[int, frozenset[int]], log: Sequence[Entry]) -> str | None:
    """The first thing wrong with a log of starts and ends, or None.

    What never started (skipped, cancelled, still queued) orders nothing by itself; what lies before it still counts.
    """
    started: set[int] = set()
    ended: set[int] = set()
    ever = {node for kind, node in log if kind == "start"}
    for place, (kind, node) in enumerate(log):
        if kind == "start":
            early = (before[node] & ever) - ended
            if node in started:
                return f"entry {place}: work {node} started twice"
            if early:
                return f"entry {place}: work {node} started before the end of {sorted(early)}"
            started.add(node)
        else:
            if node not in started or node in ended:
                return f"entry {place}: work {node} ended without a start, or twice"
            ended.add(node)
    return None


def missing(nodes: Iterable[int], model: Model, log: Sequence[Entry]) -> frozenset[int]:
    """Of the work before `nodes`, what must have run to its end but is not in the log."""
    wanted: set[int] = set()
    for node in nodes:
        wanted |= model.works[node].before | {node} if node in model.works else model.markers[node].before
    return frozenset(wanted & _ran(model)) - {node for kind, node in log if kind == "end"}


def _ran(model: Model) -> frozenset[int]:
    return frozenset(node for node, work in model.works.items() if work.state in {State.DONE, State.FAILED})


def linear_extensions(before: Mapping[int, frozenset[int]], nodes: frozenset[int]) -> Iterator[tuple[int, ...]]:
    """Every allowed order of `nodes`, for small sets."""
    if not nodes:
        yield ()
    for node in sorted(nodes):
        if not before[node] & nodes:
            for rest in linear_extensions(before, nodes - {node}):
                yield (node, *rest)


def reachable_orders(model: Model) -> set[tuple[int, ...]]:
    """Every order in which stepping one stream at a time can run the work: the slow way to `linear_extensions`."""
    orders: set[tuple[int, ...]] = set()
    stack: list[tuple[Model, tuple[int, ...]]] = [(model, ())]
    while stack:
        current, order = stack.pop()
        stuck = True
        for stream in range(len(current.streams)):
            later = current.copy()
            if later.step(stream):
                stuck = False
                stack.append((later, order + tuple(sorted(_ran(later) - _ran(current)))))
        if stuck:
            orders.add(order)
    return orders
