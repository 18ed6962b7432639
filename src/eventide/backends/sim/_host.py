"""The host of the simulated devices: its clock, which its own calls move, and the running of functions.

A Ctrl-C that arrives here and not inside a function may lose the current work item, and its stream then stops.
"""

from __future__ import annotations

import itertools
import threading
import time

from eventide._native import record_counter
from eventide._util.virtual_clock import COUNTER
from eventide.backends.sim._schedule import Entry, Item, Marker, Schedule, Stream


class _ThreadState(threading.local):
    depth = 0  # how many work items run on this thread, each inside a blocking call of the previous one


_numbers = itertools.count()


class Host:
    """Safe to use from several threads, which share one clock. No function runs with the lock held."""

    def __init__(self, cost: int) -> None:
        self._cost = cost  # ns of each call
        self._counter = f"{COUNTER}{next(_numbers)}"
        self._thread = _ThreadState()
        self.reset()

    def reset(self) -> None:
        """Reset the clock and the queues."""
        self._lock = threading.RLock()  # guards all below
        self._changed = threading.Condition(self._lock)
        self._sleepers = 0  # threads that wait for a change
        self._clock = 0  # never behind the schedule
        self._schedule = Schedule()

    def now(self) -> int:
        """The current time: that of the host; inside work, that of the device."""
        return self._schedule.now if self._thread.depth else self._clock

    def add(self, stream: Stream, entry: Entry) -> None:
        """Queue an entry. Runs nothing."""
        with self._lock:
            self._schedule.add(stream, entry, self._queue_time())
            self._wake()

    def complete(self, marker: Marker) -> None:
        """Complete a marker that is in no stream. Runs nothing."""
        with self._lock:
            self._schedule.complete(marker, self._queue_time())
            self._wake()

    def catch_up(self) -> None:
        """Run what starts up to the host's time. Not inside work: its caller continues with what it queued."""
        if not self._thread.depth:
            self._run_until(self._clock)

    def done(self, marker: Marker) -> bool:
        """True if the devices have passed a marker. Querying a pending one costs a call, also inside work."""
        if self._pending(marker):
            if marker.joined:  # the core queries after each slice of a wait; the number of slices depends on real time
                marker.joined = False
            else:
                self._run_until(self._query_time())
        return not self._pending(marker)

    def join(self, marker: Marker, timeout: float) -> None:
        """Run what starts up to the time of a marker. The timeout is in real time: functions and gates need it."""
        deadline = time.monotonic() + timeout
        while True:
            with self._lock:
                marker.joined = True
                item = self._schedule.start_towards(marker)
                self._advance(self._schedule.now)
                if item is None and (not self._pending(marker) or not self._sleep(deadline)):
                    return
            if item is not None:
                self._run(item)
            if time.monotonic() > deadline:
                return

    def _queue_time(self) -> int:
        """The time of a call that queues, including its cost."""
        if self._thread.depth:
            return self._schedule.now
        return self._advance(self._clock + self._cost)

    def _query_time(self) -> int:
        """The time of a call that queries, including its cost."""
        with self._lock:
            after = self.now() + self._cost
            self._advance(after)
            return after

    def _advance(self, to: int) -> int:
        """Move the clock, never back, and record where it was and is: a recording has the host's calls on this clock.

        Where it was is for a recording that begins here.
        """
        if to > self._clock:
            record_counter(None, self._counter, float(self._clock))
            self._clock = to
            record_counter(None, self._counter, float(to))
        return self._clock

    def _pending(self, marker: Marker) -> bool:
        return marker.time is None or marker.time > self._schedule.now

    def _run_until(self, end: int) -> None:
        """Run what starts up to a time, in the order of the starts."""
        while True:
            with self._lock:
                item = self._schedule.start_until(end)
            if item is None:
                return
            self._run(item)

    def _run(self, item: Item) -> None:
        schedule = self._schedule  # a fork inside the function gives the child a new schedule, without this item
        self._thread.depth += 1
        try:
            item.work.run()
        finally:
            self._thread.depth -= 1
            with self._lock:
                schedule.ran(item)
                self._wake()

    def _sleep(self, deadline: float) -> bool:
        """Wait for another thread to change something; False when the time is up."""
        self._sleepers += 1
        try:
            return self._changed.wait(max(0.0, deadline - time.monotonic()))
        finally:
            self._sleepers -= 1

    def _wake(self) -> None:
        if self._sleepers:
            self._changed.notify_all()
