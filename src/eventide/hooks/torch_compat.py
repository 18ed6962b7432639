"""The API of ``torch.xpu._gpu_trace``: a registry and a function for each of torch's ten hooks.

``CallbackRegistry(name)`` makes a registry of a user's own. This module is for code that is written for torch. New code
uses ``eventide.hooks.on`` and ``observe``, which have all hooks.
"""

import itertools
import threading
from collections.abc import Callable
from typing import Generic, ParamSpec

from eventide import _native
from eventide._util.device_names import NamedDevice
from eventide._util.process import after_fork
from eventide._util.subscription import Subscription
from eventide.errors import UsageTypeError, report_callback_error
from eventide.hooks._subscribe import HOOK_NUMBERS, on, statistics

__all__ = [
    "CallbackRegistry",
    "DeviceSynchronizationCallbacks",
    "EventCreationCallbacks",
    "EventDeletionCallbacks",
    "EventRecordCallbacks",
    "EventSynchronizationCallbacks",
    "EventWaitCallbacks",
    "MemoryAllocationCallbacks",
    "MemoryDeallocationCallbacks",
    "StreamCreationCallbacks",
    "StreamSynchronizationCallbacks",
    "register_callback_for_device_synchronization",
    "register_callback_for_event_creation",
    "register_callback_for_event_deletion",
    "register_callback_for_event_record",
    "register_callback_for_event_synchronization",
    "register_callback_for_event_wait",
    "register_callback_for_memory_allocation",
    "register_callback_for_memory_deallocation",
    "register_callback_for_stream_creation",
    "register_callback_for_stream_synchronization",
]

P = ParamSpec("P")
_lock = threading.Lock()  # guards the counts of all registries; no callback runs under it


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603  (a thread of the parent may hold the old one)
    _lock = threading.Lock()


after_fork(_renew_lock)


class CallbackRegistry(Generic[P]):
    """Callbacks under a name. ``CallbackRegistry("retries")`` makes one of your own, which no hook fires.

    Each operation on `_callbacks` is one step of the interpreter: threads, callbacks and a forked child need no lock.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise UsageTypeError(f"a CallbackRegistry is named by a string, not {type(name).__name__}")
        self._name = name
        self._callbacks: dict[int, Callable[P, object]] = {}  # by number of registration
        self._numbers = itertools.count()
        self._counts = {"fired": 0, "errors": 0}  # guarded by _lock

    @property
    def name(self) -> str:
        """The name that was given; of torch's ten registries, that of the hook."""
        return self._name

    @property
    def callback_list(self) -> tuple[Callable[P, object], ...]:
        """The callbacks, in the order in which they are called. A copy, which cannot be changed."""
        return tuple(self._callbacks.copy().values())

    def add_callback(self, cb: Callable[P, object]) -> Subscription:
        """Call cb when the registry fires. A function added twice is called twice."""
        if not callable(cb):
            raise UsageTypeError(f"a callback of {self.name} must be callable, not {type(cb).__name__}")
        number, callbacks = next(self._numbers), self._callbacks
        callbacks[number] = cb
        return Subscription(self.name, lambda: callbacks.pop(number, None))

    def fire_callbacks(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the callbacks of this moment. One that raises is logged and counted, and the others run."""
        callbacks = self.callback_list
        if not callbacks:
            return
        self._count("fired")
        for cb in callbacks:
            try:
                cb(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  (a callback must not break the program that it observes)
                self._count("errors")
                report_callback_error(self.name, cb, error)

    def clear_callbacks(self) -> None:
        """Remove every callback."""
        self._callbacks.clear()

    def statistics(self) -> dict[str, int]:
        """The number of callbacks, how often the registry fired to them, and how often one raised."""
        return {"callbacks": len(self._callbacks), **self._counts}

    def _count(self, what: str) -> None:
        with _lock:
            self._counts[what] += 1

    def __repr__(self) -> str:
        return f"<CallbackRegistry {self.name}: {self.statistics()}>"


# The native fire_callbacks takes no keywords: hooks have integers, by position.
class _HookRegistry(_native.RegistryBase, CallbackRegistry[P]):  # type: ignore[misc]
    """The callbacks of one hook; the native base has its name and fires it.

    ``fire_callbacks`` is part of torch's API: it informs every listener of the hook, so the recorder and the sanitizer
    too. ``eventide.integrations`` forwards torch's own hooks with it. A framework reports its streams and events with
    ``eventide.hooks.feed`` instead.
    """

    def __init__(self, hook: str) -> None:
        _native.RegistryBase.__init__(self, HOOK_NUMBERS[hook])

    @property
    def callback_list(self) -> tuple[Callable[P, object], ...]:
        """The callbacks of this hook, those for one device included; observers are not."""
        return _native.hook_callbacks(HOOK_NUMBERS[self.name])

    def add_callback(self, cb: Callable[P, object], device: str | NamedDevice | None = None) -> Subscription:
        """Call cb at this hook, for one device (type) only if given. A function added twice is called twice."""
        return on(self.name, cb, device)

    def clear_callbacks(self) -> None:
        """Remove every callback of this hook; observers remain."""
        _native.hook_clear(HOOK_NUMBERS[self.name])

    def statistics(self) -> dict[str, int]:
        """The number of callbacks, how often the hook fired to them, and how often one raised."""
        return statistics(self.name)


CallbackRegistry.__module__ = "eventide.hooks"
_native.adopt_methods(_HookRegistry)

EventCreationCallbacks: _HookRegistry[[int]] = _HookRegistry("event_creation")
EventDeletionCallbacks: _HookRegistry[[int]] = _HookRegistry("event_deletion")
EventRecordCallbacks: _HookRegistry[[int, int]] = _HookRegistry("event_record")
EventWaitCallbacks: _HookRegistry[[int, int]] = _HookRegistry("event_wait")
MemoryAllocationCallbacks: _HookRegistry[[int]] = _HookRegistry("memory_allocation")
MemoryDeallocationCallbacks: _HookRegistry[[int]] = _HookRegistry("memory_deallocation")
StreamCreationCallbacks: _HookRegistry[[int]] = _HookRegistry("stream_creation")
DeviceSynchronizationCallbacks: _HookRegistry[[]] = _HookRegistry("device_synchronization")
StreamSynchronizationCallbacks: _HookRegistry[[int]] = _HookRegistry("stream_synchronization")
EventSynchronizationCallbacks: _HookRegistry[[int]] = _HookRegistry("event_synchronization")


def register_callback_for_event_creation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(event) when an event was recorded for the first time."""
    return EventCreationCallbacks.add_callback(cb)


def register_callback_for_event_deletion(cb: Callable[[int], object]) -> Subscription:
    """Call cb(event) when an event that was recorded is about to be destroyed."""
    return EventDeletionCallbacks.add_callback(cb)


def register_callback_for_event_record(cb: Callable[[int, int], object]) -> Subscription:
    """Call cb(event, stream) when an event was recorded on a stream."""
    return EventRecordCallbacks.add_callback(cb)


def register_callback_for_event_wait(cb: Callable[[int, int], object]) -> Subscription:
    """Call cb(event, stream) when a wait for an event was queued on a stream."""
    return EventWaitCallbacks.add_callback(cb)


def register_callback_for_memory_allocation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(ptr) when memory was allocated."""
    return MemoryAllocationCallbacks.add_callback(cb)


def register_callback_for_memory_deallocation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(ptr) when memory is about to be freed."""
    return MemoryDeallocationCallbacks.add_callback(cb)


def register_callback_for_stream_creation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(stream) when a stream was created."""
    return StreamCreationCallbacks.add_callback(cb)


def register_callback_for_device_synchronization(cb: Callable[[], object]) -> Subscription:
    """Call cb() when the host is about to block for a device."""
    return DeviceSynchronizationCallbacks.add_callback(cb)


def register_callback_for_stream_synchronization(cb: Callable[[int], object]) -> Subscription:
    """Call cb(stream) when the host is about to block for a stream."""
    return StreamSynchronizationCallbacks.add_callback(cb)


def register_callback_for_event_synchronization(cb: Callable[[int], object]) -> Subscription:
    """Call cb(event) when the host is about to block for an event."""
    return EventSynchronizationCallbacks.add_callback(cb)
