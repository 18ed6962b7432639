"""Functions on one hook: ``on``, and the native registration that every way shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eventide import _native
from eventide._util.device_names import NamedDevice, require_device_type, split_device_name
from eventide._util.subscription import Subscription
from eventide.errors import UsageTypeError, UsageValueError

HOOKS: tuple[str, ...] = _native.HOOKS
"""The names of all hooks."""
HOOK_NUMBERS = {name: number for number, name in enumerate(HOOKS)}


def on(hook: str, cb: Callable[..., Any], device: str | NamedDevice | None = None) -> Subscription:
    """Call cb at a hook until the Subscription is closed. `device`: for that device, or device type, only."""
    number, registration = subscribe(hook, cb, device)
    return Subscription(hook, lambda: _native.hook_remove(number, registration))


def statistics(hook: str) -> dict[str, int]:
    """The number of callbacks of a hook, how often it fired to them, and how often one raised."""
    callbacks, fired, errors = _native.hook_statistics(_number_of(hook))
    return {"callbacks": callbacks, "fired": fired, "errors": errors}


def subscribe(
    hook: str,
    callback: Callable[..., object],
    device: str | NamedDevice | None,
    *,
    observer: bool = False,
    end: bool = False,
) -> tuple[int, int]:
    """Add a callback natively; returns the two arguments of ``_native.hook_remove``."""
    number = _number_of(hook)
    if not callable(callback):
        raise UsageTypeError(f"a callback of {hook} must be callable, not {type(callback).__name__}")
    kind, index = _parse_filter(device)
    return number, _native.hook_add(number, callback, kind, index, observer, end)


def _number_of(hook: str) -> int:
    if not isinstance(hook, str):
        raise UsageTypeError(f"a hook is named by a string, not {type(hook).__name__}")
    if hook not in HOOK_NUMBERS:
        raise UsageValueError(f"there is no hook {hook!r}; there are {', '.join(HOOKS)}")
    return HOOK_NUMBERS[hook]


def _parse_filter(device: str | NamedDevice | None) -> tuple[str | None, int]:
    """The type and index to filter by, as the core takes them: None and -1 mean any."""
    if device is None:
        return None, -1
    if isinstance(device, str):
        kind, index = split_device_name(device)
    elif hasattr(device, "capabilities"):
        kind, index = device.type, device.index or 0
    else:
        raise UsageTypeError(f"a device is a name such as 'cpu:0' or a Device, not {type(device).__name__}")
    if kind not in dict(_native.device_types()):
        require_device_type(kind)
    return kind, -1 if index is None else index
