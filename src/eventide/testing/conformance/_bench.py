"""The resources of a check: streams, holds, callbacks and threads, all released at its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from typing import TYPE_CHECKING, Any, TypeVar

from eventide import hooks
from eventide.runtime import Device, Event, EventPool, Stream, devices
from eventide.testing.conformance import _hold
from eventide.testing.conformance._expect import CheckFailedError, CheckSkippedError, expect
from eventide.testing.conformance._tools import Background

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
GRACE = 0.03  # seconds in which a faulty device may fail; a correct one does not depend on it


class Bench:
    """The resources of one check on a device. `timeout` bounds every wait, in seconds."""

    def __init__(self, device: Device, timeout: float) -> None:
        self.where = device
        self.device = str(device)  # "cpu:0"
        self.kind = device.type
        self.capabilities = device.capabilities
        self.timeout = timeout
        # Time passes when anything waits, also a notification: a hold lasts until then.
        self.virtual = self.capabilities.deferred and not self.capabilities.concurrent
        self._lasts = 0.0
        self._streams: list[Stream] = []
        self._gates: list[_hold.Gate] = []
        self._subscriptions: list[hooks.Subscription] = []

    # --- streams, events and devices

    def stream(self, device: str | None = None, **options: Any) -> Stream:
        """A new stream that is closed after the check."""
        stream = Stream(device or self.device, **options)
        self._streams.append(stream)
        return stream

    def streams(self, count: int) -> list[Stream]:
        """Several of them."""
        return [self.stream() for _ in range(count)]

    def event(self, enable_timing: bool = False) -> Event:
        """A new event."""
        return Event(self.device, enable_timing=enable_timing)

    def recorded(self, stream: Stream, enable_timing: bool = False) -> Event:
        """A new event, recorded."""
        event = self.event(enable_timing)
        event.record(stream)
        return event

    def done(self, stream: Stream, enable_timing: bool = False) -> Event:
        """A new event, recorded and complete."""
        event = self.recorded(stream, enable_timing)
        event.synchronize(timeout=self.timeout)
        return event

    def pool(self) -> EventPool:
        """A new pool."""
        return EventPool(self.device)

    def another_index(self) -> str:
        """Another device of the same type; without one the check is skipped."""
        for device in devices():
            if device.type == self.kind and str(device) != self.device:
                return str(device)
        raise CheckSkippedError(f"there is one device of type '{self.kind}'")

    def another_type(self) -> str:
        """A device of another type: the cpu, or for the cpu a simulated one."""
        for name in ("cpu:0", "sim:0"):
            if Device(name).type != self.kind:
                return name
        raise CheckSkippedError("there is no other device type")

    # --- holds, threads and event loops

    def gate(self) -> _hold.Gate:
        """Work that blocks until it is opened; only on devices with the capability 'concurrent'."""
        gate = _hold.Gate(self.timeout)
        self._gates.append(gate)
        return gate

    def hold(self, stream: Stream, behind: bool = False) -> _hold.Hold:
        """Hold a stream, in the way that its device allows; with `behind`, after its pending work."""
        way = _hold.way_to_hold(stream.device, stream.device.capabilities)
        if way == "duration":
            self._lasts += _hold.LASTS  # each ends well after the one before it
            return _hold.hold_by_duration(stream, self._lasts, self.timeout)
        if way == "cpu":
            return _hold.hold_by_cpu(stream, self.stream("cpu:0"), self.gate())
        return _hold.hold_by_work(stream, self.gate(), behind)

    def stall(self, stream: Stream) -> _hold.Hold:
        """Hold a stream by a wait for another one that is held: nothing of its own runs meanwhile."""
        blocker = self.stream(str(stream.device))
        hold = self.hold(blocker)
        stream.wait_event(blocker.record_event())
        return hold

    def background(self, call: Callable[[], T]) -> Background[T]:
        """Make a call on its own thread."""
        return Background(call, self.timeout)

    def run_loop(self, awaitable: Awaitable[T]) -> T:
        """Run an event loop on its own thread."""

        async def bounded() -> T:
            async with asyncio.timeout(self.timeout):
                return await awaitable

        return self.background(lambda: asyncio.run(bounded())).result()

    # --- observing

    def hook_calls(self, hook: str, device: str | None = None) -> list[tuple[Any, ...]]:
        """The arguments of every firing of a hook on this device from now on."""
        calls: list[tuple[Any, ...]] = []
        self.listen(hook, lambda *arguments: calls.append(arguments), device)
        return calls

    def listen(self, hook: str, callback: Callable[..., object], device: str | None = None) -> hooks.Subscription:
        """A callback on a hook for this device, until the check ends."""
        subscription = hooks.on(hook, callback, device=device or self.device)
        self._subscriptions.append(subscription)
        return subscription

    def observe(self, observer: hooks.Observer) -> None:
        """Register an observer until the check ends."""
        self._subscriptions.append(hooks.observe(observer))

    def eventually(self, condition: Callable[[], object], what: str) -> None:
        """Fail unless the condition becomes true in time."""
        deadline = time.monotonic() + self.timeout
        while not condition():
            expect(time.monotonic() < deadline, f"never happened: {what}")
            time.sleep(0.0005)

    def stays(self, condition: Callable[[], object], what: str) -> None:
        """Fail unless the condition holds, and still holds after the time in which a faulty device may fail."""
        for _ in range(10):
            expect(condition(), what)
            self.pause()

    def pause(self) -> None:
        """Give the threads of the device, if it has any, time to run."""
        if not self.virtual:
            time.sleep(GRACE / 10)

    def is_freed(self, reference: Callable[[], object], what: str) -> None:
        """Fail unless the object behind a weak reference is dropped."""

        def gone() -> bool:
            gc.collect()
            return reference() is None

        self.eventually(gone, f"{what} is freed")

    # --- afterwards

    def release(self) -> None:
        """Open every gate and close every subscription. Does not block."""
        for gate in self._gates:
            gate.open()
        for subscription in self._subscriptions:
            subscription.close()

    def close(self, timeout: float) -> None:
        """Drain what the check used. An error left in a stream is ignored; a stream that hangs is a failure."""
        self.release()
        deadline = time.monotonic() + timeout
        for stream in self._streams:
            try:
                stream.close(timeout=max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                raise CheckFailedError(f"{stream!r} did not drain after the check") from None
            except BaseException:  # noqa: BLE001, S112 - raised before, or left there on purpose
                continue

    def abandon(self) -> None:
        """Leave as little as possible to the next check; what this one left behind may hang."""
        with contextlib.suppress(CheckFailedError):
            self.close(0.1)
