"""A simulated device driven directly, as the core drives it, with stand-ins for what the core hands over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide.backends import MarkerState, Sim
from tests.helpers import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.backends import DeviceBackend
    from eventide.backends.sim._schedule import Marker, Stream


class FakeWork:
    """What a device sees of work. Notes the device's time when it runs, then calls `fn`."""

    def __init__(
        self,
        device: DeviceBackend,
        duration: float | None = None,
        name: str = "work",
        fn: Callable[[], object] | None = None,
    ) -> None:
        self.device = device
        self.duration = duration
        self.name = name
        self.fn = fn
        self.ran_at: list[int] = []

    def run(self) -> None:
        self.ran_at.append(self.device.now(0))
        if self.fn is not None:
            self.fn()


class Driver:
    """A Sim with short verbs; as in the core, `flush` follows whatever queues."""

    def __init__(self, **options: int | None) -> None:
        self.sim = Sim(**options)  # type: ignore[arg-type]

    def stream(self, index: int = 0) -> Stream:
        return self.sim.open_stream(index, 0)

    def submit(
        self,
        stream: Stream,
        duration: float | None = None,
        fn: Callable[[], object] | None = None,
        name: str = "work",
    ) -> FakeWork:
        work = FakeWork(self.sim, duration, name, fn)
        self.sim.submit(stream, work)  # type: ignore[arg-type]
        self.sim.flush(stream)
        return work

    def mark(self, stream: Stream) -> Marker:
        marker = self.sim.make_marker(stream, True)
        self.sim.flush(stream)
        return marker

    def wait(self, stream: Stream, marker: Marker) -> None:
        self.sim.wait(stream, marker)
        self.sim.flush(stream)

    def done(self, marker: Marker) -> bool:
        return self.sim.poll(marker) is MarkerState.DONE

    def join(self, marker: Marker, timeout: float = TIMEOUT) -> int:
        """The marker's time, once it is passed."""
        self.sim.join(marker, timeout)
        assert self.done(marker)
        return self.sim.completed_at(marker)

    @property
    def now(self) -> int:
        return self.sim.now(0)


def free(**options: int | None) -> Driver:
    """Calls cost nothing: everything is submitted at time 0."""
    return Driver(host_cost=0, **options)
