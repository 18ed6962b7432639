"""Devices that come when somebody asks for them: `sim`, and those that installed packages offer.

A package offers one by an entry point in the group ``eventide.backends``, whose name is the device type and whose value
is a DeviceBackend class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eventide import _native
from eventide.errors import DeviceError, UsageValueError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from eventide.backends._backend import DeviceBackend

GROUP = "eventide.backends"
BACKENDS: dict[str, DeviceBackend] = {}  # the devices written in Python, by type


def register(backend: DeviceBackend | type[DeviceBackend], name: str | None = None) -> str:
    """Register a device written in Python, for the life of the process; returns its type."""
    from eventide.backends._backend import DeviceBackend
    from eventide.errors import UsageTypeError

    made = backend() if isinstance(backend, type) else backend
    if not isinstance(made, DeviceBackend):
        raise UsageTypeError(f"register needs a DeviceBackend, not {made.__class__.__name__}")
    kind = name or getattr(made, "type", None)
    if not isinstance(kind, str) or not kind.isidentifier():
        raise UsageValueError(f"a device type needs a name such as 'mine'; {made.__class__.__name__} has {kind!r}")
    _native.device_register(kind, made)
    BACKENDS[kind] = made
    return kind


def load(kind: str) -> bool:
    """Register the device of that type if there is one to be had. False: there is none."""
    if kind == "sim":
        from eventide.backends._sim import the_sim

        register(the_sim)
        return True
    found = _offered().get(kind)
    if found is None:
        return False
    try:
        register(found.load(), kind)
    except (ImportError, AttributeError) as error:
        raise DeviceError(f"device type {kind!r} of {found.value} cannot be loaded: {error}") from error
    return True


def offered() -> list[str]:
    """The types that ``load`` can register."""
    return ["sim", *_offered()]


def _offered() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes longer to import than eventide

    return {point.name: point for point in entry_points(group=GROUP)}
