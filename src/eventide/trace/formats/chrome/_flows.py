"""Edges from flow events: arrows that the source drew from one slice to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eventide._native import enclosing_spans
from eventide.trace.formats.chrome._metadata import OWN_ENDS
from eventide.trace.linking._columns import NONE, Ints, Mask, Strings
from eventide.trace.linking._edges import KINDS, WORK, Edges, Rows

# Names of the arrow from a launch to the work: Kineto's, old and new, and those of Ascend's profiler.
_LAUNCHES = {"ac2g", "async_cpu_to_gpu", "async_gpu", "cpu_to_cuda", "launch", "async_npu", "HostToDevice"}
_FORWARD = {"fwdbwd", "forward_backward"}
_TEXT = 2


def add_flows(edges: Edges, rows: Rows, flows: dict[str, Any], strings: Strings) -> dict[str, int]:
    """Connect each step of a flow to the next. Launches that follow from correlation ids are not repeated."""
    if not len(flows["time"]):
        return {}
    order, group = _by_flow(flows)
    phase = flows["phase"][order]
    sends = phase != ord("f")
    positions = np.arange(len(order))
    fresh = np.concatenate([[True], group[1:] != group[:-1]])
    # The step before: the last one that sends, within the flow.
    before = np.concatenate([[-1], np.maximum.accumulate(np.where(sends, positions, -1))[:-1]])
    begin = np.maximum.accumulate(np.where(fresh, positions, 0))
    tied = (phase != ord("s")) & (before >= begin)
    spans = enclosing_spans(rows.track, rows.start, rows.duration, flows["track"], flows["time"], flows["enclosing"])
    kinds = _kinds(flows, strings)
    loose = order[(phase != ord("s")) & ~tied]
    own = kinds[loose] == KINDS.index("launch")
    own &= spans[loose] >= 0
    own[own] = ~rows.on_device[spans[loose[own]]]
    counts = {
        OWN_ENDS: int(own.sum()),
        "flow ends without a start": len(loose) - int(own.sum()),
        "flow starts without an end": int((sends & np.concatenate([fresh[1:], [True]])).sum()),
    }
    ties = _Ties(flows, order[before[tied]], order[tied], spans)
    counts["flow starts outside every slice"] = int((ties.from_span < 0).sum())
    counts["flow ends outside every slice"] = int((ties.to_span < 0).sum())
    _add(edges, rows, ties, kinds[ties.to])
    return {what: count for what, count in counts.items() if count}


class _Ties:
    """Pairs of flow events, each with the spans at its ends; -1 for none."""

    def __init__(self, flows: dict[str, Any], source: Ints, to: Ints, spans: Ints) -> None:
        self.flows, self.source, self.to, self.spans = flows, source, to, spans
        self.from_span, self.to_span = spans[source], spans[to]

    def only(self, keep: Mask) -> _Ties:
        return _Ties(self.flows, self.source[keep], self.to[keep], self.spans)

    def columns(self) -> dict[str, Any]:
        flows, source, to = self.flows, self.source, self.to
        return {
            "from_track": flows["track"][source],
            "from_time": flows["time"][source],
            "from_span": np.where(self.from_span < 0, NONE, self.from_span),
            "to_track": flows["track"][to],
            "to_time": flows["time"][to],
            "to_span": np.where(self.to_span < 0, NONE, self.to_span),
            "correlation": np.where(flows["id_kind"][to] == _TEXT, NONE, flows["id"][to]),
        }


def _by_flow(flows: dict[str, Any]) -> tuple[Ints, Ints]:
    """Rows by flow and time, and the flow of each. A flow with one start begins with it, regardless of its time."""
    keys = (flows["id"], flows["id_kind"], flows["name"], flows["category"])
    order = np.lexsort(keys)
    change = np.zeros(len(order), np.bool_)
    for key in keys:
        change[1:] |= key[order][1:] != key[order][:-1]
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(change)
    starts = flows["phase"] == ord("s")
    single = np.bincount(group, weights=starts) == 1
    time = np.where(starts & single[group], np.iinfo(np.int64).min, flows["time"])
    order = np.lexsort((time, group))
    return order, group[order]


def _kinds(flows: dict[str, Any], strings: Strings) -> npt.NDArray[np.int8]:
    """The kind of each flow event as a number of KINDS, by its category or its name."""
    table = np.full(len(strings), KINDS.index("flow"), np.int8)
    for column in (flows["category"], flows["name"]):
        for number, text in strings.used(column).items():
            if text in _LAUNCHES:
                table[number] = KINDS.index("launch")
            elif text in _FORWARD:
                table[number] = KINDS.index("fwdbwd")
    kinds: npt.NDArray[np.int8] = np.minimum(table[flows["category"]], table[flows["name"]])
    return kinds


def _add(edges: Edges, rows: Rows, ties: _Ties, kind: npt.NDArray[np.int8]) -> None:
    for word in ("launch", "fwdbwd", "flow"):
        chosen = ties.only(kind == KINDS.index(word))
        if word == "launch":  # to work alone, and once
            chosen = chosen.only(_are_launches(rows, chosen))
            called = rows.is_in("runtime")[chosen.from_span]  # a call rather than the operator around it; the earliest
            best_last = np.lexsort((-rows.start[chosen.from_span], called))
            work, calls = chosen.to_span[best_last], chosen.from_span[best_last]
            rows.caller[work], rows.submit[work] = calls, rows.start[calls]
            chosen = chosen.only(rows.caller[chosen.to_span] == chosen.from_span)
        if len(chosen.to):
            edges.parts.append((KINDS.index(word), chosen.columns()))


def _are_launches(rows: Rows, ties: _Ties) -> Mask:
    usable = (ties.from_span >= 0) & (ties.to_span >= 0)
    a, b = ties.from_span[usable], ties.to_span[usable]
    usable[usable] &= rows.on_device[b] & ~rows.on_device[a] & (rows.caller[b] < 0) & rows.is_in(*WORK)[b]
    return usable
