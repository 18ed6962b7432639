"""Devices with one deliberate defect each, derived from the correct one of examples/tiny_device.py.

Importing this module registers them. ``caught_by`` is the check of the conformance kit that must fail.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections import Counter, defaultdict
from typing import Any, ClassVar

import eventide as et
from eventide import hooks
from eventide.backends import MarkerState
from examples.tiny_device import Marker, Tiny

BROKEN: dict[str, type[Broken]] = {}


class Broken(Tiny):
    """The correct device, base of the broken ones"""

    caught_by: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.type = cls.__name__.lower()
        BROKEN[cls.type] = cls


class UsesStaleMarkers(Broken):
    """A marker is reused without a reset"""

    caught_by = "a new marker is independent of the markers before it"
    cache: ClassVar[list[Marker]] = []

    def make_marker(self, steps: Any, timing: bool) -> Marker:
        if not self.cache:
            return super().make_marker(steps, timing)
        marker = self.cache.pop()
        steps.put(marker.set)
        return marker

    def release(self, marker: Marker) -> None:
        self.cache.append(marker)


class KeepsItsLock(Broken):
    """An error is raised with the device's lock held"""

    caught_by = "memory that is not there is an error and leaves the device usable from every thread"
    lock = threading.Lock()
    blocks: ClassVar[dict[int, Any]] = {}

    def allocate(self, index: int, nbytes: int) -> int:
        self.lock.acquire()
        block = ctypes.create_string_buffer(nbytes)
        self.blocks[ctypes.addressof(block)] = block
        self.lock.release()
        return ctypes.addressof(block)

    def free(self, index: int, address: int, nbytes: int) -> None:
        del self.blocks[address]


class StampsWhenAsked(Broken):
    """The time of a marker is taken when the host queries it"""

    caught_by = "a time is when the device passed the marker not when the host noticed"

    def completed_at(self, marker: Marker) -> int:
        return time.monotonic_ns()


class CountsDown(Broken):
    """Times are reversed"""

    caught_by = "times of one stream never run backwards"

    def completed_at(self, marker: Marker) -> int:
        return 2**62 - super().completed_at(marker)


class WakesOneWaiter(Broken):
    """Of two threads in join of one marker one never returns"""

    caught_by = "every thread that synchronizes one event returns"

    def join(self, marker: Marker, timeout: float) -> None:
        marker.passed.wait()
        turn = vars(marker).setdefault("turn", threading.Semaphore(1))
        turn.acquire()


class SaysDoneTooSoon(Broken):
    """A marker is complete at every query"""

    caught_by = "query refers to the newest record"

    def poll(self, marker: Marker) -> MarkerState:
        return MarkerState.DONE


class WaitsForTheNewest(Broken):
    """A wait is for the newest marker of a stream instead of the given one"""

    caught_by = "a pending wait ends with the record it was made for"
    newest: ClassVar[dict[int, Marker]] = {}
    stream: ClassVar[dict[Marker, int]] = {}

    def make_marker(self, steps: Any, timing: bool) -> Marker:
        marker = self.newest[id(steps)] = super().make_marker(steps, timing)
        self.stream[marker] = id(steps)
        return marker

    def wait(self, steps: Any, marker: Marker) -> None:
        steps.put(lambda: self.newest[self.stream[marker]].passed.wait())  # noqa: PLW0108 - looked up late, on purpose


class IsIdleTooSoon(Broken):
    """A stream is idle when no work is queued, even while work runs"""

    caught_by = "a time is not before the end of the work in front of the marker"
    queued: ClassVar[Counter[int]] = Counter()

    def submit(self, steps: Any, work: Any) -> None:
        def run() -> None:
            self.queued[id(steps)] -= 1
            work.run()

        self.queued[id(steps)] += 1
        steps.put(run)

    def make_marker(self, steps: Any, timing: bool) -> Marker:
        marker = super().make_marker(steps, timing)
        if not self.queued[id(steps)]:
            marker.set()
        return marker


class IgnoresOtherIndices(Broken):
    """A wait for a marker of another device of the type has no effect"""

    caught_by = "any device of a type waits for any other"
    index: ClassVar[dict[object, int]] = {}

    def open_stream(self, index: int, priority: int) -> Any:
        steps = super().open_stream(index, priority)
        self.index[steps] = index
        return steps

    def make_marker(self, steps: Any, timing: bool) -> Marker:
        marker = super().make_marker(steps, timing)
        self.index[marker] = self.index[steps]
        return marker

    def wait(self, steps: Any, marker: Marker) -> None:
        if self.index[marker] == self.index[steps]:
            super().wait(steps, marker)


class DiesOfAnError(Broken, hooks.Observer):
    """Nothing completes after work that raised"""

    caught_by = "an exception in work kills nothing"
    dead = False

    def __init__(self) -> None:
        hooks.observe(self)

    def work_completion(self, record: hooks.HookRecord) -> None:
        self.dead |= record.outcome == "failed" and str(record.device).startswith(self.type)

    def poll(self, marker: Marker) -> MarkerState:
        return MarkerState.PENDING if self.dead else super().poll(marker)


class RunsOutOfOrder(Broken):
    """Work runs before everything that is queued"""

    caught_by = "work of one stream runs in the order of submission"

    def submit(self, steps: Any, work: Any) -> None:
        for step in [work.run, *(steps.get_nowait() for _ in range(steps.qsize()))]:
            steps.put(step)


class RunsTwice(Broken):
    """Every work runs twice"""

    caught_by = "every work runs exactly once"

    def submit(self, steps: Any, work: Any) -> None:
        steps.put(work.run)
        steps.put(work.run)


class LosesWork(Broken):
    """Every seventh work is lost"""

    caught_by = "every work runs exactly once"
    counter = itertools.count(1)

    def submit(self, steps: Any, work: Any) -> None:
        if next(self.counter) % 7:
            super().submit(steps, work)


class IgnoresWaits(Broken):
    """A wait has no effect"""

    caught_by = "a stream that waits runs later work after the event"

    def wait(self, steps: Any, marker: Marker) -> None: ...


class MarkersDoNotWait(Broken):
    """A wait blocks the next work, but no marker before it"""

    caught_by = "a marker behind a wait is pending while the event is"
    waits: ClassVar[defaultdict[int, list[Marker]]] = defaultdict(list)

    def wait(self, steps: Any, marker: Marker) -> None:
        self.waits[id(steps)].append(marker)

    def submit(self, steps: Any, work: Any) -> None:
        for marker in self.waits.pop(id(steps), ()):
            super().wait(steps, marker)
        super().submit(steps, work)


class SharesQueues(Broken):
    """The fifth stream shares the queue of the first"""

    caught_by = "every stream is its own queue"
    queues: ClassVar[list[Any]] = []
    turn = itertools.count()

    def open_stream(self, index: int, priority: int) -> Any:
        if len(self.queues) < 4:
            self.queues.append(super().open_stream(index, priority))
        return self.queues[next(self.turn) % len(self.queues)]

    def close_stream(self, steps: Any) -> None: ...


for _broken in BROKEN.values():
    et.Device.register(_broken)
