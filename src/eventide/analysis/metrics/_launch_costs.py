"""What launching costs: the time of launching calls, the delay until the work starts, outliers, and short kernels.

Work that takes less time than the call that launched it cannot be hidden: the host is then the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import launches_of
from eventide.analysis._view import View, view_of
from eventide.trace import Trace

LONG_CALL, LONG_DELAY = 50_000, 100_000  # ns; the bounds of HTA


@dataclass(frozen=True)
class LaunchRow:
    """All work of one name whose launching call is recorded; times are nanoseconds."""

    name: str
    category: str
    count: int
    call: float  # the call, median
    call_max: int
    delay: float  # from the start of the call until the start of the work, median
    delay_max: int
    work: float  # the work, median
    shorter: int  # works that took less time than their call
    long_calls: int  # calls over 50 us
    long_delays: int  # delays over 100 us


@dataclass(frozen=True, repr=False)
class LaunchCosts(show.Result):
    """By the number of works that are shorter than their call, largest first."""

    start: int
    wall: int
    count: int
    call_time: int  # of all launching calls
    shorter: int
    long_calls: int
    long_delays: int
    rows: tuple[LaunchRow, ...]
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "count": show.number,
        "call": show.time,
        "call_max": show.time,
        "delay": show.time,
        "work": show.time,
        "shorter": show.number,
        "long_calls": show.number,
        "long_delays": show.number,
    }
    _row: ClassVar[type] = LaunchRow
    _heads: ClassVar[Mapping[str, str]] = {"long_calls": "> 50 us", "long_delays": "> 100 us"}

    def _rows(self) -> tuple[LaunchRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if self.absent:
            return self.absent
        text = f"{f.count(self.count, 'work item')} launched in {f.time(self.call_time)} of calls; {self.shorter:,} "
        text += f"({f.percent(self.shorter, self.count)}) took less time than the call that launched them; "
        text += f"{f.count(self.long_calls, 'call')} over {f.time(LONG_CALL)}, "
        return text + f"{f.count(self.long_delays, 'start')} over {f.time(LONG_DELAY)} after the call began"


_ABSENT = "the trace does not say which call launched which work, so the cost of launches is not known"


def launch_costs(trace: Trace | View) -> LaunchCosts:
    """Compare each piece of work with the call that launched it, and nothing else: not the work of graphs."""
    view = view_of(trace)
    start, end = view.window
    launches = launches_of(view)
    rows = np.flatnonzero((view.bits > 0) & (launches.call >= 0))
    _, place, works = np.unique(launches.call[rows], return_inverse=True, return_counts=True)
    rows = rows[works[place] == 1]
    if len(rows) == 0:
        return LaunchCosts(start, end - start, 0, 0, 0, 0, 0, (), _ABSENT)
    call = launches.end[rows] - launches.begin[rows]
    delay = np.maximum(view.start[rows] - launches.begin[rows], 0)
    work = view.duration[rows]
    key = view.name[rows] * len(view.categories) + view.category[rows]
    order = np.argsort(key, kind="stable")
    found = []
    for mine in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        row = int(rows[mine[0]])
        found.append(
            LaunchRow(
                view.word(row),
                view.category_of(row),
                len(mine),
                float(np.median(call[mine])),
                int(call[mine].max()),
                float(np.median(delay[mine])),
                int(delay[mine].max()),
                float(np.median(work[mine])),
                int((work[mine] < call[mine]).sum()),
                int((call[mine] > LONG_CALL).sum()),
                int((delay[mine] > LONG_DELAY).sum()),
            )
        )
    found.sort(key=lambda row: (-row.shorter, row.name))
    calls = np.unique(launches.call[rows])
    numbers = (int((work < call).sum()), int((view.duration[calls] > LONG_CALL).sum()), int((delay > LONG_DELAY).sum()))
    return LaunchCosts(start, end - start, len(rows), int(view.duration[calls].sum()), *numbers, tuple(found), None)
