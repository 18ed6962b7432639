"""Hooks: places in the runtime that tell their listeners what happened.

    on, register_callback_for_*, *Callbacks   functions on one hook           _registry.py
    Subscription                              what closes them again          _subscription.py
    Observer, observe, HookRecord             an object with a method each    _observer.py
    feed                                      streams, events and work of a framework that is not ours

Ten hooks have the names and arguments of ``torch.xpu._gpu_trace``; eight are ours.
"""

from eventide._native import HookRecord
from eventide.hooks._observer import Observer, observe
from eventide.hooks._registry import (
    HOOKS,
    CallbackRegistry,
    CollectiveLaunchCallbacks,
    DeviceSynchronizationCallbacks,
    EventCreationCallbacks,
    EventDeletionCallbacks,
    EventRecordCallbacks,
    EventSynchronizationCallbacks,
    EventWaitCallbacks,
    HostAccessCallbacks,
    HostSignalCallbacks,
    HostWaitCallbacks,
    MemoryAllocationCallbacks,
    MemoryDeallocationCallbacks,
    MemoryUseCallbacks,
    StreamCreationCallbacks,
    StreamDeletionCallbacks,
    StreamSynchronizationCallbacks,
    WorkCompletionCallbacks,
    WorkSubmissionCallbacks,
    on,
    register_callback_for_collective_launch,
    register_callback_for_device_synchronization,
    register_callback_for_event_creation,
    register_callback_for_event_deletion,
    register_callback_for_event_record,
    register_callback_for_event_synchronization,
    register_callback_for_event_wait,
    register_callback_for_host_access,
    register_callback_for_host_signal,
    register_callback_for_host_wait,
    register_callback_for_memory_allocation,
    register_callback_for_memory_deallocation,
    register_callback_for_memory_use,
    register_callback_for_stream_creation,
    register_callback_for_stream_deletion,
    register_callback_for_stream_synchronization,
    register_callback_for_work_completion,
    register_callback_for_work_submission,
)
from eventide.hooks._subscription import Subscription

__all__ = [
    "HOOKS",
    "CallbackRegistry",
    "CollectiveLaunchCallbacks",
    "DeviceSynchronizationCallbacks",
    "EventCreationCallbacks",
    "EventDeletionCallbacks",
    "EventRecordCallbacks",
    "EventSynchronizationCallbacks",
    "EventWaitCallbacks",
    "HookRecord",
    "HostAccessCallbacks",
    "HostSignalCallbacks",
    "HostWaitCallbacks",
    "MemoryAllocationCallbacks",
    "MemoryDeallocationCallbacks",
    "MemoryUseCallbacks",
    "Observer",
    "StreamCreationCallbacks",
    "StreamDeletionCallbacks",
    "StreamSynchronizationCallbacks",
    "Subscription",
    "WorkCompletionCallbacks",
    "WorkSubmissionCallbacks",
    "observe",
    "on",
    "register_callback_for_collective_launch",
    "register_callback_for_device_synchronization",
    "register_callback_for_event_creation",
    "register_callback_for_event_deletion",
    "register_callback_for_event_record",
    "register_callback_for_event_synchronization",
    "register_callback_for_event_wait",
    "register_callback_for_host_access",
    "register_callback_for_host_signal",
    "register_callback_for_host_wait",
    "register_callback_for_memory_allocation",
    "register_callback_for_memory_deallocation",
    "register_callback_for_memory_use",
    "register_callback_for_stream_creation",
    "register_callback_for_stream_deletion",
    "register_callback_for_stream_synchronization",
    "register_callback_for_work_completion",
    "register_callback_for_work_submission",
]

HookRecord.__module__ = "eventide.hooks"
