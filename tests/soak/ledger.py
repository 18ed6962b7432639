"""Requests and their outcomes: each Future, callback, record and error of one round."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import eventide as et
from tests.helpers import Boom, root_cause

LIMIT = 60.0  # seconds; nothing here takes one, so what reaches it is stuck


@dataclass
class Item:
    """One work item; `called` and `ran` count, so that a second settling or run shows."""

    number: int
    stream: int  # its id
    thread: int  # that submitted it
    error: Boom | None
    ordered: bool  # against other items of this thread in this stream; not if a hook submitted it
    future: et.Future[Any] | None = None
    called: int = 0
    ran: int = 0
    cancelled: bool = False


@dataclass
class Ledger:
    """Appended to by all threads (list.append is atomic), read by `check` when they have ended."""

    deferred: bool
    items: list[Item] = field(default_factory=list)
    notified: list[list[int]] = field(default_factory=list)  # a slot for each notify callback
    recorded: list[int] = field(default_factory=list)  # ids of shared events, once for each record
    raised: list[int] = field(default_factory=list)  # the stream's id, for each error of its synchronize or close
    wrong: list[str] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    newest: dict[tuple[int, int], int] = field(default_factory=dict)  # (stream, thread) -> the last item that ran
    busy: dict[int, int] = field(default_factory=dict)  # stream -> the item that runs

    def began(self, item: Item) -> None:
        """Order: one thread's items run in the order of submission, and one at a time where the stream runs them."""
        item.ran += 1
        place = (item.stream, item.thread)
        if item.ordered:
            if self.newest.get(place, -1) >= item.number:
                self.wrong.append(f"{item} ran after item {self.newest[place]}")
            self.newest[place] = item.number
        if self.deferred:
            if item.stream in self.busy:
                self.wrong.append(f"{item} ran during item {self.busy[item.stream]}")
            self.busy[item.stream] = item.number

    def ended(self, item: Item) -> None:
        """The function of the item is about to return or raise."""
        if self.deferred:
            self.busy.pop(item.stream, None)

    def expected(self, error: BaseException) -> bool:
        """Whether an error comes from work that was made to fail; any other is a finding."""
        return isinstance(root_cause(error), Boom)

    def settled(self, item: Item) -> None:
        """One Future, after the drain: settled once, with the outcome that its run or its stream explains."""
        assert item.future is not None
        error = None if item.future.cancelled() else item.future.exception(LIMIT)  # raised, it would keep this frame
        if item.future.cancelled():
            fine = item.ran == 0 and item.cancelled
        elif error is None:
            fine = item.ran == 1 and item.error is None and item.future.result() == item.number
        elif isinstance(error, Boom):
            fine = item.ran == 1 and error is item.error
        else:
            # On an immediate device the function has run inside submit; what it enqueued was skipped.
            ran = item.ran if self.deferred else 0
            fine = isinstance(error, et.StreamError) and ran == 0 and self.expected(error)
        if not fine:
            self.wrong.append(f"{item} ended with {error!r}")
        if item.called != 1:
            self.wrong.append(f"{item} called its callback {item.called} times")

    def check(self, events: list[et.Event]) -> None:
        """Once everything is drained and all callbacks have run."""
        for item in self.items:
            self.settled(item)
        lost = [slot for slot in self.notified if slot[0] != 1]
        if lost:
            self.wrong.append(
                f"of {len(self.notified)} notify callbacks {len(lost)} ran another number of times than 1"
            )
        for event in events:
            records = self.recorded.count(event._id)
            if event.version != records:
                self.wrong.append(f"{event!r} has version {event.version} after {records} records")
        silent = {item.stream for item in self.items if item.error is not None and item.ran}.difference(self.raised)
        if silent:
            self.wrong.append(f"work failed in streams {silent}, and neither synchronize nor close raised there")
