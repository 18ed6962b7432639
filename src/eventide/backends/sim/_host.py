"""The host of the simulated devices: its clock, which its own calls move, and the running of functions.

A Ctrl-C that arrives here and not inside a function may lose the work item at hand, and its stream then stands still.
"""

from __future__ import annotations

import threading
import time

from eventide.backends.sim._schedule import Entry, Item, Marker, Schedule, Stream


class _ThreadState(threading.local):
    depth = 0  # how much work runs on this thread, each inside a blocking call of the one before


class Host:
    """Safe to use from several threads, which share one clock. No function runs with the lock held."""

    def __init__(self, cost: int) -> None:
        self._cost = cost  # ns of each call
        self._thread = _ThreadState()
        self.start_clean()

    def start_clean(self) -> None:
        """Time begins and nothing is queued."""
        self._lock = threading.RLock()  # guards all below
        self._changed = threading.Condition(self._lock)
        self._sleepers = 0  # threads that wait for a change
        self._clock = 0  # never behind the schedule
        self._schedule = Schedule()

    def now(self) -> int:
        """The time of whoever asks: the host's; inside work, that of the device."""
        return self._schedule.now if self._thread.depth else self._clock

    def add(self, stream: Stream, entry: Entry) -> None:
        """Queue an entry. Runs nothing."""
        with self._lock:
            self._schedule.add(stream, entry, self._call())
            self._wake()

    def complete(self, marker: Marker) -> None:
        """Complete a marker that is in no stream. Runs nothing."""
        with self._lock:
            self._schedule.complete(marker, self._call())
            self._wake()

    def catch_up(self) -> None:
        """Run what starts up to the host's time. Not inside work: whoever runs that goes on with what it queued."""
        if not self._thread.depth:
            self._run_until(self._clock)

    def done(self, marker: Marker) -> bool:
        """Whether the devices have passed a marker. Looking at one that is pending costs a call, inside work too."""
        if self._pending(marker):
            if marker.joined:  # the core looks after each slice of a wait; how many there are is a matter of real time
                marker.joined = False
            else:
                self._run_until(self._look())
        return not self._pending(marker)

    def join(self, marker: Marker, timeout: float) -> None:
        """Run what starts up to the time of a marker. The timeout is in real time: functions and gates take some."""
        deadline = time.monotonic() + timeout
        while True:
            with self._lock:
                marker.joined = True
                item = self._schedule.start_towards(marker)
                self._clock = max(self._clock, self._schedule.now)
                if item is None and (not self._pending(marker) or not self._sleep(deadline)):
                    return
            if item is not None:
                self._run(item)
            if time.monotonic() > deadline:
                return

    def _call(self) -> int:
        """When a call that queues something takes place, after what it costs."""
        if self._thread.depth:
            return self._schedule.now
        self._clock += self._cost
        return self._clock

    def _look(self) -> int:
        """When a call that asks takes place, after what it costs."""
        with self._lock:
            after = self.now() + self._cost
            self._clock = max(self._clock, after)
            return after

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
        schedule = self._schedule  # after a fork inside the function the child has another, which knows nothing of this
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
