"""Names of devices: "cpu", "cpu:0", "torch:cuda:1". The last part is an index if it is a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class NamedDevice(Protocol):
    """A device of this package, as far as its name is concerned: ``eventide.Device``."""

    @property
    def type(self) -> str:
        """Such as "cpu"."""

    @property
    def index(self) -> int | None:
        """The number of the device within its type; None if not given."""


def split_device_name(name: str) -> tuple[str, int | None]:
    """("cpu", 0) of "cpu:0", ("torch:cuda", None) of "torch:cuda"."""
    kind, _, number = name.rpartition(":")
    return (kind, int(number)) if number.isdecimal() else (name, None)


def require_device_type(kind: str) -> None:
    """Register a device type that exists only by name so far, such as "sim"; UsageValueError if there is none."""
    _load(kind)


def set_device_type_loader(load: Callable[[str], object]) -> None:
    """Set the function behind ``require_device_type``. The runtime calls this when it is imported."""
    global _load  # noqa: PLW0603 - one for the process
    _load = load


def _no_devices(kind: str) -> object:
    raise LookupError(f"device type {kind!r} was needed before eventide.runtime was imported; import eventide first")


_load: Callable[[str], object] = _no_devices
