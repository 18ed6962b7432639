"""A graph under edit: the edits change durations and edges, and the schedule is made of what is left."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._view import Bools, Ints, View
from eventide.analysis.schedule import _dependencies as deps
from eventide.analysis.schedule._latencies import lags
from eventide.analysis.schedule._replay import Model
from eventide.analysis.schedule._schedule import Plan, Schedule, plan_of, schedule


@dataclass
class Draft:
    """Edges in columns with their lags; `track` is the stream of each work node, by its row in `rows`."""

    model: Model
    group_lag: Ints
    source: Ints
    target: Ints
    kind: Ints
    lag: Ints
    duration: Ints
    track: Ints
    removed: Bools  # of the work nodes
    new_streams: list[int] = field(default_factory=list)  # the stream that each new one is beside
    notes: list[str] = field(default_factory=list)
    at_best: list[str] = field(default_factory=list)
    same_edges: bool = True  # whether the edges are still those of the model

    @property
    def view(self) -> View:
        return self.model.view

    @property
    def rows(self) -> Ints:
        """Rows of the work."""
        return self.model.network.graph.rows

    @property
    def hosts(self) -> int:
        return self.model.network.hosts

    def nodes(self, rows: Ints) -> Ints:
        return self.model.network.node_of[rows]

    def keep(self, edges: Bools) -> None:
        """Drop the other edges."""
        if not edges.all():
            self.source, self.target, self.kind, self.lag = (
                column[edges] for column in (self.source, self.target, self.kind, self.lag)
            )
            self.same_edges = False

    def add(self, kind: int, source: Ints, target: Ints, lag: Ints | int) -> None:
        self.source = np.concatenate((self.source, source))
        self.target = np.concatenate((self.target, target))
        self.kind = np.concatenate((self.kind, np.full(len(source), kind)))
        self.lag = np.concatenate((self.lag, np.broadcast_to(np.asarray(lag, np.int64), len(source))))
        self.same_edges = False

    def lag_of(self, name: str, default: int = 0) -> int:
        """The lag of a class of edges."""
        groups = self.model.network.groups
        return int(self.group_lag[groups.index(name)]) if name in groups else default

    def stream_lag(self, track: int) -> int:
        """From the end of a work to the start of the next on a stream; a new one is like the one that it is beside."""
        known = len(self.view.track_kind)
        while track >= known:
            track = self.new_streams[track - known]
        return self.lag_of(f"stream {track}")

    def new_stream(self, beside: int) -> int:
        self.new_streams.append(beside)
        return len(self.view.track_kind) + len(self.new_streams) - 1

    def order_streams(self, tracks: list[int]) -> None:
        """Put the work of these streams into the order of its launches."""
        launched = launches_of(self.view).begin[self.rows]
        start = self.view.start[self.rows]
        asked = np.where(launched == NEVER, start, np.minimum(launched, start))  # clocks may disagree
        mine = np.isin(self.track, tracks)
        gone = np.zeros(len(self.duration), bool)
        gone[self.hosts + np.flatnonzero(mine)] = True
        self.keep(~((self.kind == deps.STREAM) & gone[self.target]))
        for track in tracks:
            here = np.flatnonzero((self.track == track) & ~self.removed)
            here = here[np.lexsort((start[here], asked[here]))] + self.hosts
            self.add(deps.STREAM, here[:-1], here[1:], self.stream_lag(track))

    def plan(self) -> Plan:
        if self.same_edges:
            return self.model.plan
        return plan_of(self.source, self.target, len(self.duration))

    def schedule(self) -> Schedule:
        return schedule(self.plan(), self.lag, self.duration, self.view.window[0])


def draft_of(model: Model, group_lag: Ints | None = None) -> Draft:
    """An unedited draft; with other lags of the classes than the measured ones."""
    network = model.network
    lag = model.latencies.lag if group_lag is None else group_lag
    found = network.links
    track = network.view.track[network.graph.rows] if network.view.count else np.empty(0, np.int64)
    removed = np.zeros(len(network.graph.rows), bool)
    lag_of_edges = lags(found, lag)
    return Draft(
        model, lag, found.source, found.target, found.kind, lag_of_edges, network.duration.copy(), track.copy(), removed
    )
