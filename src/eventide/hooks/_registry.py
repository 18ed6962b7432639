"""One registry per hook, and the functions that register on it."""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeAlias

from eventide import _native
from eventide.hooks._subscription import HOOK_NUMBERS, Subscription, subscribe

HOOKS: tuple[str, ...] = _native.HOOKS
"""The names of all hooks."""

P = ParamSpec("P")
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Memory that work reads or writes: pairs of address and number of bytes."""


class CallbackRegistry(_native.RegistryBase, Generic[P]):
    """The callbacks of one hook. ``fire_callbacks`` tells every listener of it, observers and native ones too."""

    __slots__ = ()

    def __init__(self, hook: str) -> None:
        super().__init__(HOOK_NUMBERS[hook])

    def add_callback(self, cb: Callable[P, object], device: object = None) -> Subscription:
        """Call cb at this hook, for one device (type) only if given. The same function twice is called twice."""
        return Subscription((subscribe(self.hook, cb, device),))

    def clear_callbacks(self) -> None:
        """Drop every callback of this hook; observers stay."""
        _native.hook_clear(HOOK_NUMBERS[self.hook])

    def statistics(self) -> dict[str, int]:
        """How many callbacks there are, how often the hook fired to them, and how often one raised."""
        callbacks, fired, errors = _native.hook_statistics(HOOK_NUMBERS[self.hook])
        return {"callbacks": callbacks, "fired": fired, "errors": errors}

    def __repr__(self) -> str:
        return f"<CallbackRegistry {self.hook}: {self.statistics()}>"


CallbackRegistry.__module__ = "eventide.hooks"
_native.adopt_methods(CallbackRegistry)


def on(hook: str, cb: Callable[..., Any], device: object = None) -> Subscription:
    """Call cb at a hook, for one device (type) only if given, until the Subscription is closed."""
    return Subscription((subscribe(hook, cb, device),))


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
StreamDeletionCallbacks: CallbackRegistry[[int]] = CallbackRegistry("stream_deletion")
WorkSubmissionCallbacks: CallbackRegistry[[int, int, str, Ranges, Ranges]] = CallbackRegistry("work_submission")
WorkCompletionCallbacks: CallbackRegistry[[int, int, int]] = CallbackRegistry("work_completion")
CollectiveLaunchCallbacks: CallbackRegistry[[int, str, str, Ranges, Ranges]] = CallbackRegistry("collective_launch")
MemoryUseCallbacks: CallbackRegistry[[int, int]] = CallbackRegistry("memory_use")
HostAccessCallbacks: CallbackRegistry[[Ranges, Ranges]] = CallbackRegistry("host_access")
HostSignalCallbacks: CallbackRegistry[[int]] = CallbackRegistry("host_signal")
HostWaitCallbacks: CallbackRegistry[[int, int, int, int]] = CallbackRegistry("host_wait")


def register_callback_for_event_creation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(event) when an event was recorded for the first time."""
    return EventCreationCallbacks.add_callback(cb)


def register_callback_for_event_deletion(cb: Callable[[int], object]) -> Subscription:
    """Call cb(event) when an event that was recorded is about to go."""
    return EventDeletionCallbacks.add_callback(cb)


def register_callback_for_event_record(cb: Callable[[int, int], object]) -> Subscription:
    """Call cb(event, stream) when an event was recorded on a stream."""
    return EventRecordCallbacks.add_callback(cb)


def register_callback_for_event_wait(cb: Callable[[int, int], object]) -> Subscription:
    """Call cb(event, stream) when a stream was told to wait for an event."""
    return EventWaitCallbacks.add_callback(cb)


def register_callback_for_memory_allocation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(ptr) when memory was allocated."""
    return MemoryAllocationCallbacks.add_callback(cb)


def register_callback_for_memory_deallocation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(ptr) when memory is about to be freed."""
    return MemoryDeallocationCallbacks.add_callback(cb)


def register_callback_for_stream_creation(cb: Callable[[int], object]) -> Subscription:
    """Call cb(stream) when a stream was made."""
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


def register_callback_for_stream_deletion(cb: Callable[[int], object]) -> Subscription:
    """Call cb(stream) when a stream is about to go."""
    return StreamDeletionCallbacks.add_callback(cb)


def register_callback_for_work_submission(cb: Callable[[int, int, str, Ranges, Ranges], object]) -> Subscription:
    """Call cb(stream, work, name, reads, writes) when work was submitted."""
    return WorkSubmissionCallbacks.add_callback(cb)


def register_callback_for_work_completion(cb: Callable[[int, int, int], object]) -> Subscription:
    """Call cb(work, start_ns, end_ns) when work is over."""
    return WorkCompletionCallbacks.add_callback(cb)


def register_callback_for_collective_launch(cb: Callable[[int, str, str, Ranges, Ranges], object]) -> Subscription:
    """Call cb(stream, name, group, reads, writes) when a collective was launched."""
    return CollectiveLaunchCallbacks.add_callback(cb)


def register_callback_for_memory_use(cb: Callable[[int, int], object]) -> Subscription:
    """Call cb(ptr, stream) when memory was lent to a stream: ``Buffer.record_stream``."""
    return MemoryUseCallbacks.add_callback(cb)


def register_callback_for_host_access(cb: Callable[[Ranges, Ranges], object]) -> Subscription:
    """Call cb(reads, writes) when a host thread said that it touches memory itself."""
    return HostAccessCallbacks.add_callback(cb)


def register_callback_for_host_signal(cb: Callable[[int], object]) -> Subscription:
    """Call cb(token) when a host thread handed over to another."""
    return HostSignalCallbacks.add_callback(cb)


def register_callback_for_host_wait(cb: Callable[[int, int, int, int], object]) -> Subscription:
    """Call cb(token, stream, event, work) when a host thread received a token, or learnt that something is over."""
    return HostWaitCallbacks.add_callback(cb)
