"""The links from findings to their places on the timeline: the hash that the page understands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eventide.report.page._index import PageIndex
from eventide.report.rules import Finding

_NAMED = ("name", "function")  # values of a finding that name spans


class Places:
    """Of the findings of one page."""

    def __init__(self, index: PageIndex) -> None:
        self._index = index
        self._devices = self._lanes_of_devices()

    def of(self, finding: Finding) -> str | None:
        """The time that shows the finding, on the lane of its device; else the longest span that it names."""
        if finding.place is not None:
            start, end = (time - self._index.low for time in finding.place)
            lane = self._devices.get(str(finding.values.get("device")))
            return self._link(start, end, "" if lane is None else f"&l={lane}")
        return next((link for key in _NAMED if (link := self._longest(finding.values.get(key)))), None)

    def of_races(self) -> Mapping[int, str]:
        """By number of the finding: the time that shows both accesses, and the lane of the first."""
        index, found = self._index, {}
        for edge in index.missing:
            start = index.view.start[[edge.one, edge.other]] - index.low
            end = index.view.end[[edge.one, edge.other]] - index.low
            lane = int(index.spans.place[edge.one])
            found[edge.finding] = self._link(int(start.min()), int(end.max()), f"&l={lane}")
        return found

    def _longest(self, name: object) -> str | None:
        """The longest span of this name, selected."""
        view = self._index.view
        if not isinstance(name, str) or name not in view.names[:-1]:
            return None
        rows = np.flatnonzero((view.name == view.names.index(name)) & (self._index.spans.place >= 0))
        if not len(rows):
            return None
        row = int(rows[view.duration[rows].argmax()])
        start, end = (int(time) - self._index.low for time in (view.start[row], view.end[row]))
        return self._link(start, end, f"&s={int(self._index.spans.place[row])},{start}")

    @staticmethod
    def _link(start: int, end: int, more: str) -> str:
        margin = max((end - start) // 4, 1)
        return f"#v={start - margin},{end + margin}{more}"

    def _lanes_of_devices(self) -> dict[str, int]:
        """The lane of each device that is shown first: where its idle time is."""
        found: dict[str, int] = {}
        for number, lane in enumerate(self._index.lanes):
            if self._index.view.track_kind[lane.track] == "stream":
                found.setdefault(self._index.view.device(lane.track), number)
        return found
