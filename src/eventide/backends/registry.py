"""Devices that are registered on first use: `sim`, `opencl`, `torch:*`, and those of installed packages.

A package offers one by an entry point in the group ``eventide.backends``, whose name is the device type and whose value
is a DeviceBackend class.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide._util import process
from eventide.errors import DeviceError, UsageValueError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from eventide.backends._backend import DeviceBackend

GROUP = "eventide.backends"
BACKENDS: dict[str, DeviceBackend] = {}  # the devices written in Python, by type
unavailable: dict[str, str] = {}  # why an offered type cannot be registered
_loading = threading.RLock()  # two threads may use a type for the first time; held while its module is imported


def _after_fork() -> None:
    global _loading  # noqa: PLW0603 - a thread of the parent may hold it
    _loading = threading.RLock()


process.after_fork(_after_fork)


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
    add(kind, made)
    return kind


def add(kind: str, backend: DeviceBackend) -> None:
    """Register a backend under any name, such as "torch:cuda"."""
    _native.device_register(kind, backend)
    BACKENDS[kind] = backend


def unregister(kind: str) -> None:
    """Remove a device type; DeviceError if it has open streams."""
    _native.device_unregister(kind)
    BACKENDS.pop(kind, None)


def load(kind: str) -> bool:
    """Register the device of that type. False: there is none.

    Raises DeviceError with the reason if the type exists, but what it needs is missing or broken.
    """
    with _loading:
        return kind in dict(_native.device_types()) or _load(kind)


def _load(kind: str) -> bool:
    if kind == "sim":
        from eventide.backends.sim._device import the_sim

        register(the_sim)
        return True
    if kind == "opencl":
        register(_create("opencl._device", "OpenCL", "pyopencl", "pip install 'pyopencl[pocl]'"))
        return True
    if kind.startswith("torch:"):
        remedy = "pip install torch, of the kind that your accelerator needs"
        add(kind, _create("torch", "Torch", "torch", remedy, kind.removeprefix("torch:")))
        return True
    found = _offered().get(kind)
    if found is None:
        return False
    try:
        register(found.load(), kind)
    except (ImportError, AttributeError) as error:
        raise DeviceError(f"device type {kind!r} of {found.value} cannot be loaded: {error}") from error
    return True


def load_or_log(kind: str) -> None:
    """The same without an exception: the reason is kept in ``unavailable`` and logged once."""
    if kind in unavailable:
        return
    try:
        load(kind)
    except Exception as error:  # noqa: BLE001 - imports of frameworks raise anything
        unavailable[kind] = str(error) if isinstance(error, DeviceError) else f"{type(error).__name__}: {error}"
        import logging

        logging.getLogger("eventide").warning("device type %r is not available: %s", kind, unavailable[kind])


def offered() -> list[str]:
    """The types that ``load`` can register, determined without importing a large package.

    torch's accelerators are among them once the program has imported torch: that takes seconds.
    """
    return ["sim", *(["opencl"] if _installed("pyopencl") else []), *_accelerators(), *_offered()]


def _accelerators() -> list[str]:
    """The accelerator of torch, if torch is imported."""
    torch = sys.modules.get("torch")
    try:
        found = torch.accelerator.current_accelerator() if torch and torch.accelerator.is_available() else None
    except Exception:  # noqa: BLE001 - torch may be partly imported, or of another version
        return []
    return [f"torch:{found.type}"] if found is not None else []


def _create(module: str, name: str, framework: str, remedy: str, *arguments: str) -> Any:
    """Create a backend of this package; its framework may be missing or broken."""
    from importlib import import_module

    try:
        return getattr(import_module(f"eventide.backends.{module}"), name)(*arguments)
    except DeviceError:
        raise
    except ModuleNotFoundError as error:
        if error.name != framework:
            raise DeviceError(f"{framework} cannot be imported: {error}") from error
        raise DeviceError(f"{framework} is not installed; {remedy}") from error
    except Exception as error:
        raise DeviceError(f"{framework} cannot be used: {type(error).__name__}: {error}") from error


def _installed(framework: str) -> bool:
    from importlib.util import find_spec

    try:
        return framework in sys.modules or find_spec(framework) is not None
    except (ImportError, ValueError):
        return False


def _offered() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # takes longer to import than eventide

    return {point.name: point for point in entry_points(group=GROUP)}
