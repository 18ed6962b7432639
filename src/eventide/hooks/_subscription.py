"""The handle of a registration: closing it is the way to unregister."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from eventide import _native
from eventide.errors import UsageTypeError, UsageValueError

__all__ = ["HOOK_NUMBERS", "Subscription", "parse_device", "subscribe"]

HOOK_NUMBERS = {name: number for number, name in enumerate(_native.HOOKS)}


_load_device: Callable[[str], object]
"""Registers a device type that is known only by its name so far; raises UsageValueError if there is none."""


def set_device_loader(load: Callable[[str], object]) -> None:
    """For the runtime, which is above."""
    global _load_device  # noqa: PLW0603 - one for the process
    _load_device = load


class Subscription:
    """Listening, until closed. Closes in any order, twice without harm, and at the end of a ``with`` block."""

    __slots__ = ("__weakref__", "_places")

    def __init__(self, places: tuple[tuple[int, int], ...]) -> None:
        self._places = places

    @property
    def closed(self) -> bool:
        """True once ``close()`` was called."""
        return not self._places

    def close(self) -> None:
        """Stop listening. A firing that is under way still finishes with the callbacks it began with."""
        places, self._places = self._places, ()
        for hook, number in places:
            _native.hook_remove(hook, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(_native.HOOKS[hook] for hook, _ in self._places))
        return f"<Subscription to {names}>" if names else "<Subscription, closed>"


def parse_device(device: object) -> tuple[str | None, int]:
    """The type and index of a device filter: None, 'cpu', 'cpu:0' or anything whose str() is such a name."""
    if device is None:
        return None, -1
    if not isinstance(device, str) and not hasattr(device, "capabilities"):
        raise UsageTypeError(f"a device is a name such as 'cpu:0' or a Device, not {type(device).__name__}")
    kind, _, index = str(device).rpartition(":") if str(device).rpartition(":")[2].isdigit() else (str(device), "", "")
    if kind not in dict(_native.device_types()):
        _load_device(kind)
    return kind, int(index) if index else -1


def subscribe(
    hook: str, callback: Callable[..., object], device: object, *, observer: bool = False, end: bool = False
) -> tuple[int, int]:
    """Add a callback natively; returns what a Subscription needs to remove it."""
    if not isinstance(hook, str):
        raise UsageTypeError(f"a hook is named by a string, not {type(hook).__name__}")
    if hook not in HOOK_NUMBERS:
        raise UsageValueError(f"there is no hook {hook!r}; there are {', '.join(_native.HOOKS)}")
    if not callable(callback):
        raise UsageTypeError(f"a callback of {hook} must be callable, not {type(callback).__name__}")
    kind, index = parse_device(device)
    number = HOOK_NUMBERS[hook]
    return number, _native.hook_add(number, callback, kind, index, observer, end)


Subscription.__module__ = "eventide.hooks"
