"""Replay: the schedule that the dependency graph of a trace gives, beside the recorded one.

It says how well the graph explains the trace. `what_if` changes the graph and takes the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._view import Bools, Ints, Step, View, steps_of, view_of
from eventide.analysis.schedule._dependencies import KINDS, ORIGINS, Network
from eventide.analysis.schedule._inferred_edges import completed, explained_share
from eventide.analysis.schedule._latencies import Latencies, lags, latencies_of
from eventide.analysis.schedule._launch_queue import depths_of
from eventide.analysis.schedule._schedule import Plan, Schedule, plan_of, schedule
from eventide.trace import Trace

_SHOWN = 3  # warnings
_WORTH_SAYING = 0.01  # of the time of a step that the model does not explain; of the work, that its gap is assumed


@dataclass(frozen=True)
class Model:
    """A trace's graph with its measured lags, and the schedule that follows from them."""

    network: Network
    latencies: Latencies
    plan: Plan
    schedule: Schedule

    @property
    def view(self) -> View:
        return self.network.view

    @property
    def lag(self) -> Ints:
        return lags(self.network.links, self.latencies.lag)


def model_of(view: View) -> Model:
    """The model of a trace; kept with the view."""
    return view.remember("replay model", lambda: modelled(completed(view)))


def modelled(network: Network, nodes: Bools | None = None) -> Model:
    """Measure the lags (at the edges into `nodes`; by default at all) and make the schedule."""
    found = latencies_of(network, nodes)
    plan = plan_of(network.links.source, network.links.target, len(network.at))
    times = schedule(plan, lags(network.links, found.lag), network.duration, network.view.window[0])
    return Model(network, found, plan, times)


def finish_of(network: Network, end: Ints) -> int:
    """When the run ends: the last work of a device, or the end of the line that launches the most."""
    last = network.view.window[0]
    if network.origin > network.hosts:
        last = max(last, int(end[network.hosts : network.origin].max()))
    lines = network.graph.lines
    if lines.main in lines.last:
        last = max(last, int(end[lines.last[lines.main]]))
    return last


def device_end_of(network: Network, end: Ints) -> int | None:
    """When the last work of a device ends."""
    return int(end[network.hosts : network.origin].max()) if network.origin > network.hosts else None


class HostClock:
    """Where the times of host threads are in another schedule: linear within each segment of a line."""

    def __init__(self, network: Network, times: Schedule) -> None:
        self._lines = network.graph.lines
        self._network, self._times = network, times

    def moved(self, track: int, at: Ints) -> Ints:
        """Recorded times of a thread in the schedule; those of a thread without a line are the main line's."""
        lines = self._lines
        line = lines.line_of.get(track, lines.main)
        if line not in lines.first:
            return at
        low, high = lines.first[line], lines.last[line] + 1
        begin, end = lines.start[low:high], lines.end[low:high]
        place = np.clip(np.searchsorted(begin, at, side="right") - 1, 0, high - low - 1)
        start, stop = self._times.start[low:high], self._times.end[low:high]
        # A segment reaches from the end of the one before it: in a blocked call, waiting is a part of it.
        left = np.append(start[:1], stop[:-1])[place]
        long = np.maximum(end[place] - begin[place], 1)
        share = np.clip(at - begin[place], 0, long) / long
        found: Ints = left + np.rint(share * (stop[place] - left)).astype(np.int64)
        return found


@dataclass(frozen=True)
class ReplayRow:
    """One interval: the whole trace, the end of the devices, or a step."""

    name: str
    recorded: int
    replayed: int

    @property
    def error(self) -> float:
        """Of the recorded time; positive: the replay takes longer."""
        return (self.replayed - self.recorded) / self.recorded if self.recorded else 0.0


@dataclass(frozen=True, repr=False)
class Replay(show.Result):
    """`edges` counts them by kind and by origin; `graph` has them all. `explained` is a share of the `works`.

    `warnings` are those of the trace: what was lost, or clocks that cannot be compared.
    """

    wall: int
    replayed: int
    rows: tuple[ReplayRow, ...]
    edges: dict[str, dict[str, int]]
    works: int
    explained: float
    queues: dict[str, int]  # stream -> depth of its launch queue, where calls waited for room
    warnings: tuple[str, ...]
    graph: pa.Table = field(repr=False, compare=False)

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "recorded": show.time,
        "replayed": show.time,
    }
    _row: ClassVar[type] = ReplayRow

    @property
    def error(self) -> float:
        """The largest error of the whole trace, of the end of the devices and of the median step, without its sign."""
        steps = [abs(row.error) for row in self.rows[2:]]
        return max([abs(row.error) for row in self.rows[:2]] + [float(np.median(steps)) if steps else 0.0])

    def _rows(self) -> tuple[ReplayRow, ...]:
        return self.rows

    def _heading(self) -> str:
        said = f"recorded {f.time(self.wall)}, replayed {f.time(self.replayed)}"
        said += f"; the model does not explain {100 * self.error:.2f} % of the time"
        worst = max(self.rows[1:], key=lambda row: abs(row.error), default=None)
        if worst is not None and abs(worst.error) > max(_WORTH_SAYING, self.error):
            said += f", and {100 * abs(worst.error):.2f} % of {worst.name}"
        assumed = sum(self.edges.get("unknown", {}).values())
        if assumed > _WORTH_SAYING * self.works:
            of = f"{assumed:,} of {f.count(self.works, 'work item')}"
            said += f"; {of} keep the recorded gap before them, since no launch is recorded"
        return "\n".join([said, *lines_of(self.warnings)])


def replay(trace: Trace | View) -> Replay:
    """Schedule the trace's dependency graph, unedited."""
    view = view_of(trace)
    model = model_of(view)
    network = model.network
    begin = view.window[0]
    wall = finish_of(network, network.until) - begin
    replayed = finish_of(network, model.schedule.end) - begin
    rows = [ReplayRow("trace", wall, replayed)]
    recorded_end, end = device_end_of(network, network.until), device_end_of(network, model.schedule.end)
    if recorded_end is not None and end is not None:
        rows.append(ReplayRow("device end", recorded_end - begin, end - begin))
    steps, clock = steps_of(view), HostClock(network, model.schedule)
    lengths = lengths_of(view, steps, clock)
    rows += [ReplayRow(step.name, step.duration, length) for step, length in zip(steps, lengths, strict=True)]
    edges: dict[str, dict[str, int]] = {}
    for kind, origin in zip(*(getattr(network.links, name).tolist() for name in ("kind", "origin")), strict=True):
        cell = edges.setdefault(KINDS[kind], {})
        cell[ORIGINS[origin]] = cell.get(ORIGINS[origin], 0) + 1
    queues = {f"{view.device(track)} stream {view.stream(track)}": depth for track, depth in depths_of(view).items()}
    works = network.origin - network.hosts
    return Replay(
        wall,
        replayed,
        tuple(rows),
        edges,
        works,
        explained_share(network),
        queues,
        warnings_of(view),
        network.to_arrow(),
    )


def warnings_of(view: View) -> tuple[str, ...]:
    """What the reader of the trace found wrong: a schedule of wrong times is wrong."""
    return tuple(str(text) for text in view.trace.metadata.get("warnings", ()))


def lines_of(warnings: Sequence[str]) -> list[str]:
    """The lines of a heading for these warnings; a few stand for many."""
    more = [f"  and {len(warnings) - _SHOWN} more warnings"] if len(warnings) > _SHOWN else []
    return [*(f"  warning: {text}" for text in warnings[:_SHOWN]), *more]


def lengths_of(view: View, steps: tuple[Step, ...], clock: HostClock) -> list[int]:
    """The length of each step in a schedule."""
    if not steps:
        return []
    tracks = view.track[view.in_categories("step") & view.on_kind("thread") & (view.end > view.start)]
    names, counts = np.unique(tracks, return_counts=True)
    track = int(names[counts.argmax()])
    times = np.array([[step.start, step.end] for step in steps], np.int64)
    moved = np.stack([clock.moved(track, times[:, side]) for side in (0, 1)], axis=1)
    return [int(length) for length in moved[:, 1] - moved[:, 0]]
