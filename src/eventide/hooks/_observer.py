"""Observers: an object with a method for each hook."""

from eventide import _native
from eventide._native import HookRecord
from eventide._util.subscription import Subscription
from eventide.errors import UsageTypeError
from eventide.hooks._subscribe import HOOK_NUMBERS, subscribe


class Observer:
    """Override the methods of the hooks to observe. A method that is not overridden costs nothing.

    Each method receives the whole record. ``observe`` determines once which methods are overridden. An exception of a
    method is logged and counted, and the program continues.
    """

    def event_creation(self, record: HookRecord) -> None:
        """An event was recorded for the first time."""

    def event_deletion(self, record: HookRecord) -> None:
        """An event that was recorded is about to be destroyed."""

    def event_record(self, record: HookRecord) -> None:
        """An event was recorded on a stream."""

    def event_wait(self, record: HookRecord) -> None:
        """A wait for an event was queued on a stream."""

    def memory_allocation(self, record: HookRecord) -> None:
        """Memory was allocated."""

    def memory_deallocation(self, record: HookRecord) -> None:
        """Memory is about to be freed."""

    def stream_creation(self, record: HookRecord) -> None:
        """A stream was created."""

    def device_synchronization(self, record: HookRecord) -> None:
        """The host is about to block for a device."""

    def device_synchronization_end(self, record: HookRecord) -> None:
        """The host blocked for ``record.waited_ns``."""

    def stream_synchronization(self, record: HookRecord) -> None:
        """The host is about to block for a stream."""

    def stream_synchronization_end(self, record: HookRecord) -> None:
        """The host blocked for ``record.waited_ns``."""

    def event_synchronization(self, record: HookRecord) -> None:
        """The host is about to block for an event."""

    def event_synchronization_end(self, record: HookRecord) -> None:
        """The host blocked for ``record.waited_ns``."""

    def stream_deletion(self, record: HookRecord) -> None:
        """A stream is about to be destroyed."""

    def work_submission(self, record: HookRecord) -> None:
        """Work was submitted."""

    def work_completion(self, record: HookRecord) -> None:
        """Work ended."""

    def collective_launch(self, record: HookRecord) -> None:
        """A collective was launched."""

    def memory_use(self, record: HookRecord) -> None:
        """A stream uses the memory: ``Buffer.record_stream``."""

    def host_access(self, record: HookRecord) -> None:
        """A host thread accesses memory itself."""

    def host_signal(self, record: HookRecord) -> None:
        """A host thread signals another one; ``record.handle`` is the token."""

    def host_wait(self, record: HookRecord) -> None:
        """A host thread received a token, or observed that an event, work or a stream ended.

        With the name ``cancelled``: it has cancelled that work in time.
        """


def observe(observer: Observer) -> Subscription:
    """Call the overridden methods of the observer at their hooks until the Subscription is closed."""
    if not isinstance(observer, Observer):
        raise UsageTypeError(f"observe needs an eventide.hooks.Observer, not {type(observer).__name__}")
    names: list[str] = []
    registrations: list[tuple[int, int]] = []
    for hook in HOOK_NUMBERS:
        for method, end in ((hook, False), (f"{hook}_end", True)):
            if getattr(type(observer), method, None) is not getattr(Observer, method, None):
                registrations.append(subscribe(hook, getattr(observer, method), None, observer=True, end=end))
                names.append(hook)

    def close() -> None:
        for number, registration in registrations:
            _native.hook_remove(number, registration)

    return Subscription(", ".join(dict.fromkeys(names)) or "no hook", close)
