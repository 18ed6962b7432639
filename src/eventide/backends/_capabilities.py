"""What a device can do. The core never assumes; it asks here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The capabilities of one device, as ``Device.capabilities`` gives them."""

    deferred: bool
    """Work runs when the stream reaches it; else inside ``submit``."""
    timing: bool
    """Events with ``enable_timing=True`` have times."""
    join_timeout: bool
    """Waiting for a marker can be bounded; else the core polls."""
    gate: bool
    """The host can hold a stream: it may wait for events of other device types."""
    copy: bool
    """It has copies of its own; else ``Stream.copy`` goes through the host."""
    host_visible: bool
    """The host can read and write the device's memory."""
    concurrent: bool
    """Several streams really run at once."""
    priorities: bool
    """``Stream(priority=...)`` makes a difference."""
    default_stream_blocks: bool
    """The default stream orders all other streams of the device."""
    heals: bool
    """A stream is usable again after its error was raised."""
    clock: str
    """The clock of its event times."""


Capabilities.__module__ = "eventide"
