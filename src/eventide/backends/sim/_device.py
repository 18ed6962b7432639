"""The device `sim`: virtual time, any number of devices, work with declared durations.

    _device     what the core calls, and the options
    _host       the host's clock; runs functions
    _schedule   when each work item starts and ends

Nothing here waits in real time. Each call of the host costs `host_cost` seconds of the host's clock, and waiting for a
marker moves that clock to the marker's time. The devices follow the clock: the function of a work item runs inside the
call that passes its start. So with one host thread the same program has the same times, to the nanosecond.

Inside work the clock shows the start of the item, and calls are part of its duration: they cost nothing more. Only
waiting, and querying a pending marker, advance the time; the item then ends no sooner than its function does.
Work that is reached by a blocking call of other work runs inside that call: it must not wait for the other to end.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, ClassVar

from eventide._util.process import after_fork
from eventide.backends._backend import Capabilities, DeviceBackend, MarkerState
from eventide.backends.sim._host import Host
from eventide.backends.sim._schedule import Engine, Item, Marker, Stream, Wait
from eventide.errors import UsageError, UsageValueError

if TYPE_CHECKING:
    from eventide._native import DeviceWork

_CAPABILITIES = Capabilities(
    deferred=True,
    timing=True,
    join_timeout=True,
    gate=True,
    copy=True,
    host_visible=True,
    concurrent=False,  # streams overlap in virtual time; their functions run one after the other
    priorities=False,
    default_stream_blocks=False,
    heals=True,
    clock="virtual",
)


class Sim(DeviceBackend):
    """Simulated devices in virtual time.

    `limit` work items run at once on one device, and beside them `copy_limit` copies (work named "copy"); None is no
    limit. Items start in the order in which they became ready. Work that declares no duration
    takes `duration` seconds. All devices of one Sim share a clock, and their streams may wait for each other;
    ``Device.register(Sim(devices=64), name="cluster")`` adds devices with a clock of their own.
    """

    type: ClassVar[str] = "sim"

    def __init__(
        self,
        devices: int = 8,
        *,
        limit: int | None = None,
        copy_limit: int | None = None,
        host_cost: float = 1e-6,
        duration: float = 1e-6,
    ) -> None:
        self._used = False
        self.configure(devices, limit, copy_limit, host_cost, duration)
        _sims.add(self)

    def configure(
        self, devices: int, limit: int | None, copy_limit: int | None, host_cost: float, duration: float
    ) -> None:
        """Change the options; only before the first stream."""
        _check(1, devices=devices, limit=limit, copy_limit=copy_limit)
        _check(0, host_cost=host_cost, duration=duration)
        if self._used:
            raise UsageError("sim has streams already: configure it first, or register another Sim under a new name")
        self._count = devices
        self._limits = limit, copy_limit
        self._duration = _nanoseconds(duration, 0)
        self._host = Host(_nanoseconds(host_cost, 0))
        self.reset()

    def reset(self) -> None:
        """Reset the clock and the queues. Runs in the child of a fork: queued work belongs to the parent."""
        self._host.reset()
        self._engines = [[Engine(limit) for limit in self._limits] for _ in range(self._count)]

    def count(self) -> int:
        """The configured number."""
        return self._count

    def capabilities(self, index: int) -> Capabilities:  # noqa: ARG002 - all devices are alike
        """The capabilities of a simulated device."""
        return _CAPABILITIES

    def open_stream(self, index: int, priority: int) -> Stream:  # noqa: ARG002 - there are no priorities
        """Make a stream."""
        self._used = True
        return Stream(*self._engines[index])

    def submit(self, stream: Stream, work: DeviceWork) -> None:
        """Queue work."""
        engine = stream.copies if work.name == "copy" else stream.compute
        self._host.add(stream, Item(stream, engine, work, _nanoseconds(work.duration, self._duration)))

    def make_marker(self, stream: Stream, timing: bool) -> Marker:  # noqa: ARG002 - every marker has its time
        """Queue a marker."""
        marker = Marker()
        self._host.add(stream, marker)
        return marker

    def wait(self, stream: Stream, marker: Marker) -> None:
        """Queue a wait for a marker."""
        self._host.add(stream, Wait(marker))

    def gate(self, stream: Stream) -> Marker:
        """Queue a wait for a marker that only the host completes."""
        token = Marker()
        self._host.add(stream, Wait(token))
        return token

    def open(self, token: Marker) -> None:
        """Release the stream at the time of this call."""
        self._host.complete(token)

    def flush(self, stream: Stream) -> None:  # noqa: ARG002 - streams run as time passes
        """Run what starts up to now."""
        self._host.catch_up()

    def poll(self, marker: Marker) -> MarkerState:
        """Return whether a marker is done. Querying a pending one advances the time, so polling terminates."""
        return MarkerState.DONE if self._host.done(marker) else MarkerState.PENDING

    def join(self, marker: Marker, timeout: float) -> None:
        """Advance to the time of the marker."""
        self._host.join(marker, timeout)

    def completed_at(self, marker: Marker) -> int:
        """The time of a marker that is done."""
        return marker.time or 0

    def now(self, index: int) -> int:  # noqa: ARG002 - one clock for all
        """The virtual time."""
        return self._host.now()


def configure_sim(
    *,
    devices: int = 8,
    limit: int | None = None,
    copy_limit: int | None = None,
    host_cost: float = 1e-6,
    duration: float = 1e-6,
) -> None:
    """Configure the devices of the type `sim`, before the first stream on one of them. See ``Sim``."""
    the_sim.configure(devices, limit, copy_limit, host_cost, duration)


def _check(least: int, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and value < least:
            raise UsageValueError(f"{name} must be at least {least}; got {value}")


def _nanoseconds(seconds: float | None, default: int) -> int:
    if seconds is None:
        return default
    if not 0 <= seconds < math.inf:
        raise UsageValueError(f"work must declare its duration as a number of seconds from 0 on; got {seconds}")
    return round(seconds * 1e9)


def _after_fork_in_child() -> None:
    for sim in _sims:
        sim.reset()


_sims: weakref.WeakSet[Sim] = weakref.WeakSet()
after_fork(_after_fork_in_child)
the_sim = Sim()
"""The devices of the type `sim`."""
