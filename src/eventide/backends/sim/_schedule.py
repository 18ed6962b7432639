"""When work starts and ends on the simulated devices, in virtual nanoseconds. Independent of host, locks and functions.

A stream passes its entries in order and stops at the first that takes time: work, or a wait for a marker that
is not passed. Only work at the front of a stream is in the heap of starts and ends to come, so a million queued items
cost a million appends, and ended items are not referenced.
"""

from __future__ import annotations

import sys
from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eventide._native import DeviceWork

# What an entry of the heap means; at one instant, in this order.
_END = 0  # a work item ends
_GRANTED = 1  # it was ready before, and an engine has become free for it
_READY = 2  # nothing is left before it in its stream

Event = tuple[int, int, int, "Item"]  # time, meaning, number of the item: no two are equal, so items are not compared


class Engine:
    """A part of a device that runs up to `limit` items at once; others queue in the order of readiness."""

    __slots__ = ("free", "line")

    def __init__(self, limit: int | None) -> None:
        self.free = sys.maxsize if limit is None else limit
        self.line: deque[Item] = deque()


class Stream:
    """Entries that are not passed yet, and when the last one before them was passed."""

    __slots__ = ("compute", "copies", "entries", "idle", "passed_at")

    def __init__(self, compute: Engine, copies: Engine) -> None:
        self.compute = compute
        self.copies = copies
        self.entries: deque[Entry] = deque()
        self.passed_at = 0
        self.idle = True  # it has passed everything; else the heap or a marker refers to it


class Item:
    """A work item."""

    __slots__ = ("called_at", "duration", "engine", "number", "start", "stream", "work")

    def __init__(self, stream: Stream, engine: Engine, work: DeviceWork, duration: int) -> None:
        self.stream = stream
        self.engine = engine
        self.work = work
        self.duration = duration
        self.called_at = 0  # the host's time of its submission: it does not start before
        self.number = 0  # in the order of submission
        self.start = 0


class Marker:
    """A one-shot point in a stream, or one that the host completes. `time` is set once, as soon as it is determined."""

    __slots__ = ("called_at", "held", "joined", "time")

    def __init__(self) -> None:
        self.called_at = 0
        self.time: int | None = None
        self.held: list[Stream] | None = None  # streams that wait for it; most markers have none
        self.joined = False  # the host has joined it since the last query


class Wait:
    """Holds a stream until a marker is passed."""

    __slots__ = ("called_at", "marker")

    def __init__(self, marker: Marker) -> None:
        self.called_at = 0
        self.marker = marker


Entry = Item | Marker | Wait


class Schedule:
    """The heap of starts and ends. `now` is how far it has been followed; it never decreases."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._events: list[Event] = []
        self._items = 0

    def add(self, stream: Stream, entry: Entry, called_at: int) -> None:
        """Queue an entry at a time of the host's. This may determine times, but starts nothing."""
        entry.called_at = called_at
        if isinstance(entry, Item):
            self._items += 1
            entry.number = self._items
        stream.entries.append(entry)
        if stream.idle:
            self._proceed([stream])

    def complete(self, marker: Marker, time: int) -> None:
        """Set the time of a marker that is in no stream."""
        marker.time = time
        self._proceed(_release(marker))

    def start_until(self, time: int) -> Item | None:
        """The next item that starts up to a time; None when that time is reached."""
        while self._events and self._events[0][0] <= time:
            if item := self._step():
                return item
        self.now = max(self.now, time)
        return None

    def start_towards(self, marker: Marker) -> Item | None:
        """The next item that starts up to the time of a marker; None when that is reached, or when nothing moves."""
        while marker.time is None and self._events:
            if item := self._step():
                return item
        return None if marker.time is None else self.start_until(marker.time)

    def ran(self, item: Item) -> None:
        """The function of a started item has returned, so its end is determined. One that waited ends later."""
        heappush(self._events, (max(item.start + item.duration, self.now), _END, item.number, item))

    def _step(self) -> Item | None:
        """Pass one start or end; the item if it starts."""
        self.now, meaning, _, item = heappop(self._events)
        if meaning == _END:
            self._end(item)
            return None
        if meaning == _READY and not item.engine.free:
            item.engine.line.append(item)
            return None
        if meaning == _READY:
            item.engine.free -= 1
        item.start = self.now
        item.stream.entries.popleft()
        return item

    def _end(self, item: Item) -> None:
        engine = item.engine
        if engine.line:
            first = engine.line.popleft()
            heappush(self._events, (self.now, _GRANTED, first.number, first))
        else:
            engine.free += 1
        item.stream.passed_at = self.now
        self._proceed([item.stream])

    def _proceed(self, streams: list[Stream]) -> None:
        """Let streams pass all entries that take no time, and then the streams that waited for the markers passed."""
        while streams:
            stream = streams.pop()
            entries = stream.entries
            stream.idle = False
            while entries:
                entry = entries[0]
                if isinstance(entry, Item):
                    ready = max(stream.passed_at, entry.called_at)
                    heappush(self._events, (ready, _READY, entry.number, entry))
                    break
                if isinstance(entry, Marker):
                    entry.time = stream.passed_at = max(stream.passed_at, entry.called_at)
                    streams += _release(entry)
                elif entry.marker.time is None:
                    _hold(stream, entry.marker)
                    break
                else:
                    stream.passed_at = max(stream.passed_at, entry.marker.time)
                entries.popleft()
            else:
                stream.idle = True


def _hold(stream: Stream, marker: Marker) -> None:
    if marker.held is None:
        marker.held = []
    marker.held.append(stream)


def _release(marker: Marker) -> list[Stream]:
    held, marker.held = marker.held or [], None
    return held
