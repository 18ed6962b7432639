"""Observers: an object with a method for each hook."""

from eventide._native import HookRecord
from eventide.errors import UsageTypeError
from eventide.hooks._subscription import HOOK_NUMBERS, Subscription, subscribe


class Observer:
    """Override what you want to hear; what you do not override costs nothing.

    Each method gets the whole record. Which ones are overridden is looked up once, by ``observe``. A method that raises
    is logged and counted, and the program goes on.
    """

    def event_creation(self, record: HookRecord) -> None:
        """An event was recorded for the first time."""

    def event_deletion(self, record: HookRecord) -> None:
        """An event that was recorded is about to go."""

    def event_record(self, record: HookRecord) -> None:
        """An event was recorded on a stream."""

    def event_wait(self, record: HookRecord) -> None:
        """A stream was told to wait for an event."""

    def memory_allocation(self, record: HookRecord) -> None:
        """Memory was allocated."""

    def memory_deallocation(self, record: HookRecord) -> None:
        """Memory is about to be freed."""

    def stream_creation(self, record: HookRecord) -> None:
        """A stream was made."""

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
        """A stream is about to go."""

    def work_submission(self, record: HookRecord) -> None:
        """Work was submitted."""

    def work_completion(self, record: HookRecord) -> None:
        """Work is over."""

    def collective_launch(self, record: HookRecord) -> None:
        """A collective was launched."""

    def memory_use(self, record: HookRecord) -> None:
        """Memory was lent to a stream: ``Buffer.record_stream``."""

    def host_access(self, record: HookRecord) -> None:
        """A host thread touches memory itself."""

    def host_signal(self, record: HookRecord) -> None:
        """A host thread hands over to another; ``record.handle`` is the token."""

    def host_wait(self, record: HookRecord) -> None:
        """A host thread received a token, or learnt that an event, a work or a stream is over."""


def observe(observer: Observer) -> Subscription:
    """Tell the observer everything it has a method for, until the Subscription is closed."""
    if not isinstance(observer, Observer):
        raise UsageTypeError(f"observe needs an eventide.hooks.Observer, not {type(observer).__name__}")
    places = []
    for hook in HOOK_NUMBERS:
        for method, end in ((hook, False), (f"{hook}_end", True)):
            if getattr(type(observer), method, None) is not getattr(Observer, method, None):
                places.append(subscribe(hook, getattr(observer, method), None, observer=True, end=end))
    return Subscription(tuple(places))


Observer.__module__ = "eventide.hooks"
