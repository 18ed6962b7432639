"""How far a prediction may be off, and why: the same edit under the other assumptions that the trace allows.

Each reason has a low and a high end, in ns beside the prediction. Contention for cores or for the device's bandwidth is
in no trace; where an edit depends on it, the answer is "at best" and the interval is that of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import COMMUNICATION, Bools, Ints, steps_of
from eventide.analysis.schedule import _dependencies as deps
from eventide.analysis.schedule._apply import apply_edits
from eventide.analysis.schedule._draft import Draft, draft_of
from eventide.analysis.schedule._edits import Edit
from eventide.analysis.schedule._replay import Model, finish_of

_REPEATS = 0.007  # of the time: runs of an unchanged program differ by so much


@dataclass(frozen=True)
class Reason:
    """What makes the interval wide; `low` and `high` are how far it moves the ends."""

    text: str
    low: int
    high: int


def finish(draft: Draft) -> int:
    """How long the run of a draft takes."""
    network = draft.model.network
    return finish_of(network, draft.schedule().end) - network.view.window[0]


def reasons_of(model: Model, edits: Sequence[Edit], gain: int, predicted: int) -> list[Reason]:
    """Why the interval is as wide as it is, the widest first."""
    found = [_repeats(model, predicted), _unexplained(model)]
    found += _lags(model, edits, gain)
    found += _inferred(model, edits, gain)
    found += _collectives(model, gain)
    return sorted((each for each in found if each.low or each.high), key=lambda each: -(each.low + each.high))


def _repeats(model: Model, predicted: int) -> Reason:
    """From the steps of the trace, from the scatter of its durations, or a figure of experience; the largest."""
    lengths = [step.duration for step in steps_of(model.view)]
    share = _REPEATS
    if len(lengths) >= 4:
        middle = float(np.median(lengths))  # steps that are cut or warm up do not count
        spread = 1.48 * float(np.median(np.abs(np.array(lengths) - middle)))
        share = max(share, spread / middle / float(np.sqrt(len(lengths))))
    if predicted:
        share = max(share, _scatter(model) / predicted)
    width = round(share * predicted)
    return Reason(f"runs of the same program differ by about {100 * share:.1f} %", width, width)


def _scatter(model: Model) -> float:
    """By how much the sum of all durations differs from run to run, if those of one name vary independently.

    Of the work, and of the stretches of host code that the main line is in; they have the name of their span.
    """
    network = model.network
    lines = network.graph.lines
    used = network.row >= 0
    used[: network.hosts] = False
    if lines.main in lines.first:
        main = slice(lines.first[lines.main], lines.last[lines.main] + 1)
        used[main] = network.row[main] >= 0
    used &= network.duration > 0
    names, durations = model.view.name[network.row[used]], network.duration[used]
    order = np.argsort(names, kind="stable")
    cuts = np.flatnonzero(np.diff(names[order])) + 1
    total = 0.0
    for mine in np.split(durations[order], cuts) if len(order) else ():
        deviation = 1.48 * float(np.median(np.abs(mine - np.median(mine))))
        total += len(mine) * deviation**2
    return float(np.sqrt(total))


def _unexplained(model: Model) -> Reason:
    network = model.network
    begin = network.view.window[0]
    recorded = finish_of(network, network.until) - begin
    error = abs(finish_of(network, model.schedule.end) - begin - recorded)
    return Reason("the unedited replay differs from the recording", error, error)


def _lags(model: Model, edits: Sequence[Edit], gain: int) -> list[Reason]:
    """With each lag at its lower and upper quartile, by the precision of a mean of so many."""
    found, root = model.latencies, np.sqrt(np.maximum(model.latencies.count, 1))
    low = np.rint(found.lag + (np.minimum(found.low, found.lag) - found.lag) / root).astype(np.int64)
    high = np.rint(found.lag + (np.maximum(found.high, found.lag) - found.lag) / root).astype(np.int64)
    gains = [_gain(model, edits, lag) for lag in (low, high)]
    return [_reason("latencies of launches, queues and waits vary", gain, gains)]


def _inferred(model: Model, edits: Sequence[Edit], gain: int) -> list[Reason]:
    """Without the edges that only the times show."""
    links = model.network.links
    unsure = np.isin(links.kind, (deps.WAIT, deps.FULL)) & (links.origin != deps.RECORDED)
    if not unsure.any():
        return []
    return [_reason(f"{int(unsure.sum()):,} waits are inferred", gain, [_gain(model, edits, None, ~unsure)])]


def _collectives(model: Model, gain: int) -> list[Reason]:
    """A collective lasts until the slowest rank: with less to do here it may wait longer for the others."""
    view, network = model.view, model.network
    rows = network.graph.rows
    mine = np.flatnonzero(view.bits[rows] == COMMUNICATION) if len(rows) else rows
    if len(mine) == 0 or gain == 0:
        return []
    # The others are not faster for this edit: what is saved here may be spent waiting for them. What is lost here may
    # have been waiting before.
    waiting = int(view.duration[rows[mine]].sum())
    text = "collectives may wait for other ranks, which are not in the trace"
    return [Reason(text, 0, gain) if gain > 0 else Reason(text, min(-gain, waiting), 0)]


def _gain(model: Model, edits: Sequence[Edit], lag: Ints | None, keep: Bools | None = None) -> int:
    """What the edits save under another assumption."""
    before, after = draft_of(model, lag), draft_of(model, lag)
    for draft in (before, after):
        if keep is not None:
            draft.keep(keep)
    try:
        apply_edits(after, edits)
    except ValueError:  # what is edited is itself inferred
        return 0
    return finish(before) - finish(after)


def _reason(text: str, gain: int, gains: Sequence[int]) -> Reason:
    return Reason(text, max(0, *(each - gain for each in gains)), max(0, *(gain - each for each in gains)))
