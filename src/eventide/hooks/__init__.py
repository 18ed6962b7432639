"""Hooks: points in the runtime where registered functions are called.

    on, statistics        call a function at one hook, and count its calls                  _subscribe.py
    Observer, observe     an object with a method for each hook                             _observer.py
    Subscription          the handle of a registration; closing it unregisters              eventide._util
    HookRecord            what an Observer receives
    feed                  report streams, events and work of another framework              feed.py
    torch_compat          the registries and functions of ``torch.xpu._gpu_trace``          torch_compat.py

Ten hooks have the names and arguments of torch; eight are our own. Times are nanoseconds of CLOCK_MONOTONIC.
"""

from eventide._native import HookRecord
from eventide._util.public_names import publish
from eventide._util.subscription import Subscription
from eventide.hooks._observer import Observer, observe
from eventide.hooks._subscribe import HOOKS, on, statistics
from eventide.hooks.torch_compat import (
    CallbackRegistry,
    DeviceSynchronizationCallbacks,
    EventCreationCallbacks,
    EventDeletionCallbacks,
    EventRecordCallbacks,
    EventSynchronizationCallbacks,
    EventWaitCallbacks,
    MemoryAllocationCallbacks,
    MemoryDeallocationCallbacks,
    StreamCreationCallbacks,
    StreamSynchronizationCallbacks,
    register_callback_for_device_synchronization,
    register_callback_for_event_creation,
    register_callback_for_event_deletion,
    register_callback_for_event_record,
    register_callback_for_event_synchronization,
    register_callback_for_event_wait,
    register_callback_for_memory_allocation,
    register_callback_for_memory_deallocation,
    register_callback_for_stream_creation,
    register_callback_for_stream_synchronization,
)

__all__ = [
    "HOOKS",
    "CallbackRegistry",
    "DeviceSynchronizationCallbacks",
    "EventCreationCallbacks",
    "EventDeletionCallbacks",
    "EventRecordCallbacks",
    "EventSynchronizationCallbacks",
    "EventWaitCallbacks",
    "HookRecord",
    "MemoryAllocationCallbacks",
    "MemoryDeallocationCallbacks",
    "Observer",
    "StreamCreationCallbacks",
    "StreamSynchronizationCallbacks",
    "Subscription",
    "observe",
    "on",
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
    "statistics",
]

publish(__name__, globals(), __all__)
