"""The API of ``torch.xpu._gpu_trace``: a registry and a function for each of torch's ten hooks.

For code that is written for torch. New code uses ``eventide.hooks.on`` and ``observe``, which have all hooks.
"""

from collections.abc import Callable
from typing import Generic, ParamSpec

from eventide import _native
from eventide._util.device_names import NamedDevice
from eventide._util.subscription import Subscription
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


class CallbackRegistry(_native.RegistryBase, Generic[P]):
    """The callbacks of one hook.

    ``fire_callbacks`` is part of torch's API: it informs every listener of the hook, so the recorder and the sanitizer
    too. ``eventide.integrations`` forwards torch's own hooks with it. A framework reports its streams and events with
    ``eventide.hooks.feed`` instead.
    """

    __slots__ = ()

    def __init__(self, hook: str) -> None:
        super().__init__(HOOK_NUMBERS[hook])

    def add_callback(self, cb: Callable[P, object], device: str | NamedDevice | None = None) -> Subscription:
        """Call cb at this hook, for one device (type) only if given. A function added twice is called twice."""
        return on(self.hook, cb, device)

    def clear_callbacks(self) -> None:
        """Remove every callback of this hook; observers remain."""
        _native.hook_clear(HOOK_NUMBERS[self.hook])

    def statistics(self) -> dict[str, int]:
        """The number of callbacks, how often the hook fired to them, and how often one raised."""
        return statistics(self.hook)

    def __repr__(self) -> str:
        return f"<CallbackRegistry {self.hook}: {self.statistics()}>"


CallbackRegistry.__module__ = "eventide.hooks"
_native.adopt_methods(CallbackRegistry)

EventCreationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("event_creation")
EventDeletionCallbacks: CallbackRegistry[[int]] = CallbackRegistry("event_deletion")
EventRecordCallbacks: CallbackRegistry[[int, int]] = CallbackRegistry("event_record")
EventWaitCallbacks: CallbackRegistry[[int, int]] = CallbackRegistry("event_wait")
MemoryAllocationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("memory_allocation")
MemoryDeallocationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("memory_deallocation")
StreamCreationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("stream_creation")
DeviceSynchronizationCallbacks: CallbackRegistry[[]] = CallbackRegistry("device_synchronization")
StreamSynchronizationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("stream_synchronization")
EventSynchronizationCallbacks: CallbackRegistry[[int]] = CallbackRegistry("event_synchronization")


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
