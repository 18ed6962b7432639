"""Devices by name."""

from __future__ import annotations

import builtins
import os
from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide._util.device_names import set_device_type_loader, split_device_name
from eventide.errors import UsageTypeError, UsageValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventide.backends import Capabilities, DeviceBackend
    from eventide.runtime._clock import Clock

__all__ = ["Device", "as_device", "devices"]

_OF_TORCH = ("cuda", "xpu", "mps", "mtia", "hip", "npu", "hpu", "privateuseone")


class Device:
    """Something that runs work: ``Device("cpu")``, ``Device("cpu:0")``, ``Device("cpu", 0)``.

    ``index`` is None unless given; a device without one means the first of its type, and compares equal to it.
    """

    __slots__ = ("_index", "_type")

    def __init__(self, type: str | Device, index: int | None = None) -> None:  # noqa: A002 - the name users expect
        if isinstance(type, Device):
            index = type.index if index is None else index
            type = type.type  # noqa: A001
        if not isinstance(type, str):
            raise UsageTypeError(f"a device is a name such as 'cpu:0' or a Device, not {type.__class__.__name__}")
        kind, number = split_device_name(type)
        if not kind or (number is not None and index is not None):
            raise UsageValueError(f"{type!r} is not the name of a device; write it as 'cpu' or 'cpu:0'")
        index = index if number is None else number
        counts = dict(_native.device_types())
        if kind not in counts:
            counts = _register_type(kind)
        if index is not None and not 0 <= index < counts[kind]:
            raise UsageValueError(f"there is no device '{kind}:{index}'; that type has {counts[kind]}")
        self._type = kind
        self._index = index

    @staticmethod
    def register(backend: DeviceBackend | builtins.type[DeviceBackend], name: str | None = None) -> Device:
        """Register a device written in Python, for the life of the process; returns its first device."""
        from eventide.backends import registry

        return Device(registry.register(backend, name))

    @staticmethod
    def load(path: str | os.PathLike[str], name: str | None = None) -> Device:
        """Load a device from a shared library (see eventide/device.h), for the life of the process."""
        from pathlib import Path  # not needed by `import eventide`

        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            raise UsageValueError(f"a device type needs a name such as 'mine', not {name!r}")
        given = Path(path)  # a missing one may be on the loader's search path
        found = given.resolve() if given.exists() else given
        return Device(_native.device_load(str(found), name or ""))

    @staticmethod
    def build(
        name: str,
        sources: Sequence[str | os.PathLike[str]],
        *,
        include_paths: Sequence[str | os.PathLike[str]] = (),
        build_directory: str | os.PathLike[str] | None = None,
        extra_flags: Sequence[str] = (),
        verbose: bool = False,
        is_python_module: bool = False,
    ) -> Device:
        """Compile a device from C++ sources and load it as device type `name`.

        With `is_python_module` the library is an extension module as well: it is compiled with the headers of Python,
        and imported, so that ``import name`` gives the module with what it defines besides the device.
        """
        from eventide.backends import build_library, import_library

        library = build_library(
            name,
            sources,
            include_paths=include_paths,
            build_directory=build_directory,
            extra_flags=extra_flags,
            verbose=verbose,
            python=is_python_module,
        )
        if is_python_module:
            import_library(name, library)
        return Device.load(library, name)

    @staticmethod
    def unregister(name: str) -> None:
        """Remove a device type; it must have no open streams."""
        if not isinstance(name, str):
            raise UsageTypeError(f"a device type is named by a string, not {name.__class__.__name__}")
        from eventide.backends import registry

        registry.unregister(name)

    @property
    def type(self) -> str:
        """Such as 'cpu'."""
        return self._type

    @property
    def index(self) -> int | None:
        """The number within the type; None unless given."""
        return self._index

    @property
    def capabilities(self) -> Capabilities:
        """Its capabilities."""
        from eventide.backends import Capabilities  # imports dataclasses, which `import eventide` does not need

        return Capabilities(**_native.device_capabilities(self._type, self._index or 0))

    @property
    def clock(self) -> Clock:
        """The clock of its times, measured now: offset and drift to CLOCK_MONOTONIC, and their accuracy."""
        from eventide.runtime._clock import clock_of  # not needed by `import eventide`

        return clock_of(self._type, self._index or 0, self.capabilities.clock)

    @property
    def name(self) -> str:
        """A description for people."""
        return _native.device_description(self._type, self._index or 0)

    @property
    def native(self) -> Any:
        """The driver's own object, such as a ``pyopencl.Context``; None where there is none."""
        from eventide.backends.registry import BACKENDS

        backend = BACKENDS.get(self._type)
        return None if backend is None else backend.native_device(self._index or 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self._type, self._index or 0) == (other._type, other._index or 0)

    def __hash__(self) -> int:
        return hash((self._type, self._index or 0))

    def __str__(self) -> str:
        return f"{self._type}:{self._index or 0}"

    def __repr__(self) -> str:
        return f"Device({self._type!r})" if self._index is None else f"Device('{self._type}:{self._index}')"


def _register_type(kind: str) -> dict[str, int]:
    """Register a device type by name; returns the number of devices of each type."""
    from eventide.backends import registry

    if not registry.load(kind):
        existing = dict.fromkeys([*dict(_native.device_types()), *registry.offered()])
        of_torch = f"; for that of torch write torch:{kind}" if kind in _OF_TORCH else ""
        raise UsageValueError(f"there is no device type {kind!r}{of_torch}; there are {', '.join(existing)}")
    return dict(_native.device_types())


set_device_type_loader(_register_type)


def as_device(device: str | Device | None) -> Device:
    """The device of a name, the Device itself, or the current one for None."""
    if device is None:
        return Device(*_native.current_device())
    return device if isinstance(device, Device) else Device(device)


def devices() -> list[Device]:
    """Every device, including those of installed packages."""
    from eventide.backends import registry

    registered = dict(_native.device_types())
    for kind in registry.offered():
        if kind not in registered:
            registry.load_or_log(kind)
    return [Device(kind, index) for kind, count in _native.device_types() for index in range(count)]
