"""The lag of each class of edges, measured where an edge of it was the one that its target waited for.

One number a class: no piece of work has a correction of its own, so what the model does not explain stays visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._view import Bools, Ints
from eventide.analysis.schedule._dependencies import CALL, LAUNCH, STREAM, Links, Network

_ROUNDS = 4
_NEAR = 3_000  # ns: of two edges that explain the beginning of a work to within this, neither is measured
_DEFAULT = {STREAM: 1_500}  # ns: the lag of a kind of edges of which none can be measured, at most
_OTHERWISE = 5_000
_SELDOM, _SLOW = 3, 10  # edges; times the usual lag of the kind
_FAR = 4.0  # interquartile ranges: a lag farther above the upper quartile is not of its class


@dataclass(frozen=True)
class Latencies:
    """By class: the lag in ns, its low and high quartile, and at how many edges it was measured."""

    lag: Ints
    low: Ints
    high: Ints
    count: Ints


def latencies_of(network: Network, nodes: Bools | None = None) -> Latencies:
    """Measure at the edges into `nodes` (all of them by default)."""
    found = network.links
    delta = network.at[found.target] - network.until[found.source]
    use = (found.group >= 0) & ~_complete_at_launch(network)
    if nodes is not None:
        use &= nodes[found.target]
    count = len(network.groups)
    rows = np.flatnonzero(use)
    rows = rows[np.argsort(found.group[rows], kind="stable")]
    cuts = np.searchsorted(found.group[rows], np.arange(count + 1))
    lag = np.array([_low(delta[rows[a:b]]) for a, b in pairwise(cuts.tolist())], np.int64)
    table = np.zeros((3, count), np.int64)
    for _ in range(_ROUNDS):
        binding = binds(found, delta, lag, len(network.at))
        for group in range(count):
            mine = rows[cuts[group] : cuts[group + 1]]
            table[:, group] = _measure(delta[mine][binding[mine]], int(lag[group]))
        lag = table[0].copy()
    alone = _alone(found, delta, lag, len(network.at)) & use
    numbers = np.bincount(found.group[alone], minlength=count).astype(np.int64)
    kind = np.zeros(count, np.int64)
    kind[found.group[use]] = found.kind[use]
    measured = _measured(kind, numbers, lag)
    for group in np.flatnonzero(~measured).tolist():
        like = (kind == kind[group]) & measured
        usual = int(np.median(lag[like])) if like.any() else _DEFAULT.get(int(kind[group]), _OTHERWISE)
        lag[group] = min(int(lag[group]), usual)
        table[1, group], table[2, group] = min(0, lag[group]), 2 * max(lag[group], 0)
    return Latencies(lag, table[1], table[2], numbers)


def _complete_at_launch(network: Network) -> Bools:
    """Edges to the next work of a stream that was launched after the end of the last: it waited for its launch."""
    found, launched = network.links, launches_of(network.view).begin
    row = network.row[found.target]
    asked = np.where(row >= 0, launched[row], NEVER) if len(launched) else np.full(len(row), NEVER)
    late: Bools = (found.kind == STREAM) & (asked > network.until[found.source])
    return late


def _measured(kind: Ints, numbers: Ints, lag: Ints) -> Bools:
    """Which classes were. A launch far slower than others, seen once or twice, is a wait that is not recorded."""
    found: Bools = numbers > 0
    for each in (LAUNCH, CALL):
        mine = found & (kind == each)
        if mine.any():
            usual = max(float(np.median(np.repeat(lag[mine], numbers[mine]))), _OTHERWISE)
            found &= ~((kind == each) & (numbers < _SELDOM) & (lag > _SLOW * usual))
    return found


def _alone(found: Links, delta: Ints, lag: Ints, nodes: int) -> Bools:
    """Whether each edge is the only one of its target that explains when it began: only there a lag can be measured."""
    slack = delta - lags(found, lag)
    least = np.full(nodes, np.iinfo(np.int64).max)
    np.minimum.at(least, found.target, slack)
    near = slack <= least[found.target] + _NEAR
    alone: Bools = (slack == least[found.target]) & (
        np.bincount(found.target[near], minlength=nodes)[found.target] == 1
    )
    return alone


def binds(found: Links, delta: Ints, lag: Ints, nodes: int) -> Bools:
    """Whether each edge is the one of its target that was satisfied last, with these lags."""
    slack = delta - lags(found, lag)
    least = np.full(nodes, np.iinfo(np.int64).max)
    np.minimum.at(least, found.target, slack)
    binding: Bools = slack == least[found.target]
    return binding


def lags(found: Links, lag: Ints) -> Ints:
    """The lag of each edge."""
    if len(lag) == 0:
        return found.lag.copy()
    return np.where(found.group >= 0, lag[np.maximum(found.group, 0)] + found.lag, found.lag)


def _low(values: Ints) -> int:
    return int(values.min()) if len(values) else 0


def _measure(values: Ints, before: int) -> tuple[int, int, int]:
    """The mean without what lies far above, and the quartiles."""
    if len(values) == 0:
        return before, before, before
    low, high = np.percentile(values, (25, 75))
    near: NDArray[np.int64] = values[values <= high + _FAR * max(high - low, 500)]
    return round(float(near.mean())), int(low), int(high)
