"""Replay of a job's operations with other durations.

Operations start when those that they depend on have ended, and those of one gang - the parts of one collective, or a
send and its receive - start together. A scenario is an array of durations; many are replayed at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eventide.errors import UsageValueError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Operations:
    """Operations as columns; steps are replayed each from its own time 0. Durations have any one unit.

    The duration of a member of a gang is its transfer alone: from the start of its last member to its own end.
    """

    duration: Floats
    kind: Ints  # index of `kinds`
    kinds: tuple[str, ...]
    rank: Ints
    stage: Ints  # -1: not known
    step: Ints
    gang: Ints  # -1: starts by itself
    before: Ints  # edges: operation before[i] ends before after[i] starts
    after: Ints

    def __len__(self) -> int:
        return len(self.duration)


class Replay:
    """The order of the operations, found once: levels of gangs, each after all levels that it depends on."""

    def __init__(self, ops: Operations) -> None:
        self.ops = ops
        count = len(ops)
        alone = np.flatnonzero(ops.gang < 0)
        names, self._node = np.unique(np.where(ops.gang < 0, 0, ops.gang + 1), return_inverse=True)
        self._node = self._node.astype(np.int64)
        self._node[alone] = len(names) + np.arange(len(alone))
        self._nodes = len(names) + len(alone)
        source, target = self._node[ops.before], self._node[ops.after]
        level = _levels(source, target, self._nodes)
        order = np.lexsort((target, level[target])) if len(target) else np.empty(0, np.int64)
        self._edges = [(ops.before[part], target[part]) for part in _parts(order, level[target][order])]
        by_level = np.argsort(level[self._node], kind="stable")
        self._members = [
            (part, int(level[self._node[part[0]]])) for part in _parts(by_level, level[self._node][by_level])
        ]
        self._edge_levels = [int(level[targets[0]]) for _, targets in self._edges]
        self._count = count

    def ends(self, durations: Floats) -> Floats:
        """When each operation ends; `durations` has a row for each scenario."""
        end = np.zeros_like(durations)
        start = np.zeros((durations.shape[0], self._nodes))
        edges = dict(zip(self._edge_levels, self._edges, strict=True))
        for members, level in self._members:
            if level in edges:
                sources, targets = edges[level]
                first = np.flatnonzero(np.diff(targets, prepend=-1))
                start[:, targets[first]] = np.maximum.reduceat(end[:, sources], first, axis=1)
            end[:, members] = start[:, self._node[members]] + durations[:, members]
        return end

    def lengths(self, durations: Floats) -> tuple[Ints, Floats]:
        """The steps, and how long each one takes; a row for each scenario."""
        end = self.ends(durations)
        order = np.argsort(self.ops.step, kind="stable")
        steps = self.ops.step[order]
        first = np.flatnonzero(np.diff(steps, prepend=steps[0] - 1)) if len(steps) else np.empty(0, np.int64)
        return steps[first], np.maximum.reduceat(end[:, order], first, axis=1)


def _levels(source: Ints, target: Ints, nodes: int) -> Ints:
    """The longest way to each node, in edges; UsageValueError if operations wait for each other."""
    level = np.zeros(nodes, np.int64)
    left = np.bincount(target, minlength=nodes)
    order = np.argsort(source, kind="stable")
    begin = np.searchsorted(source[order], np.arange(nodes + 1))
    ready = np.flatnonzero(left == 0)
    done = 0
    while len(ready):
        done += len(ready)
        lengths = begin[ready + 1] - begin[ready]
        places = np.repeat(begin[ready] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths) + np.arange(
            lengths.sum()
        )
        reached, origins = target[order[places]], np.repeat(ready, lengths)
        np.maximum.at(level, reached, level[origins] + 1)
        np.subtract.at(left, reached, 1)
        ready = np.unique(reached[left[reached] == 0])
    if done < nodes:
        raise UsageValueError(f"{nodes - done} operations wait for each other in a cycle; a replay needs an order")
    return level


def _parts(order: Ints, keys: Ints) -> list[Ints]:
    """`order` cut where its sorted keys change."""
    return np.split(order, np.flatnonzero(np.diff(keys)) + 1) if len(order) else []
