"""When each node of a graph begins: one pass in the core over the edges (`native/core/analysis/replay.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide._native import order_dependencies, schedule_nodes
from eventide.analysis._view import Ints
from eventide.errors import UsageValueError


@dataclass(frozen=True)
class Plan:
    """Edges in an order for one pass; `number` is the row of each in the columns that they were given in."""

    source: Ints
    target: Ints
    number: Ints
    nodes: int


@dataclass(frozen=True)
class Schedule:
    """Start and end of each node, and the edge that it waited for last (-1: its release time)."""

    start: Ints
    end: Ints
    binding: Ints


def plan_of(source: Ints, target: Ints, nodes: int) -> Plan:
    """Sort the edges; UsageValueError if some of them form a cycle."""
    order = np.empty(len(source), np.int64)
    source, target = np.ascontiguousarray(source), np.ascontiguousarray(target)
    ready = order_dependencies(source, target, nodes, order)
    if ready < nodes:
        raise UsageValueError(
            f"{nodes - ready} of {nodes} nodes of the graph wait for each other: work would come before what it needs"
        )
    return Plan(source[order], target[order], order, nodes)


def schedule(plan: Plan, lag: Ints, duration: Ints, release: int) -> Schedule:
    """The schedule with these lags (by number of the edge) and durations; nothing begins before `release`."""
    start = np.full(plan.nodes, release, np.int64)
    binding = np.empty(plan.nodes, np.int64)
    duration = np.ascontiguousarray(duration)
    schedule_nodes(
        plan.source, plan.target, np.ascontiguousarray(lag[plan.number]), plan.number, duration, start, binding
    )
    return Schedule(start, start + duration, binding)
