"""The native core of Eventide. Private: use the eventide package."""

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Annotated, Any, ParamSpec, Self, TypeVar

import numpy
import numpy.typing
from numpy.typing import NDArray

from eventide.runtime import Event, Future, Stream


P = ParamSpec("P")
T = TypeVar("T")

class FutureBase:
    """The native half of eventide.Future."""

    def result(self, timeout: float | None = None) -> Any:
        """The value of the work; blocks, and raises what the work raised."""

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception of the work, or None; blocks."""

    def cancel(self) -> bool:
        """Skips the work if it has not started. True if it will not run."""

    def cancelled(self) -> bool:
        """True if the work was cancelled."""

    def running(self) -> bool:
        """True while the work runs."""

    def done(self) -> bool:
        """True once the work is complete or was cancelled."""

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """
        Calls fn(future) when the work completes: on the notifier thread, or at once if it is complete.
        """

    def set_result(self, result: object) -> None:
        """Refused."""

    def set_exception(self, exception: object) -> None:
        """Refused."""

    def _settle(self) -> list[Callable[[Any], object]]: ...

    @property
    def _watched(self) -> bool:
        pass

    @property
    def work_id(self) -> int:
        """The id of the work in the hooks."""

class StreamBase:
    """The native half of eventide.Stream."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __init__(
        self,
        device_type: str,
        index: int,
        priority: int,
        max_pending: int,
        name: str,
        existing: object = None,
        is_default: bool = False,
        /,
    ) -> None: ...

    def __del__(self) -> None: ...

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queues fn(*args, **kwargs) and returns its Future."""

    def submit_native(self, function: object, argument: object = None, *, name: str | None = None, keep: object = None, reads: object = None, writes: object = None) -> Future[None]:
        """
        Queues a C function ``void (*)(void *)``, which never takes the GIL.

        `function` is a ctypes function pointer, or a capsule named "eventide.work" whose context is the argument if
        none is given. `argument` is an address, a ctypes object, or None. Both, and `keep`, stay alive until it ran;
        so do `reads` and `writes`, the memory that it touches.
        """

    def _submit_call(self, function: int, argument: int, keep: object, name: str, declared: object, /) -> Future[None]: ...

    def copy(self, dst: object, src: object) -> Future[None]:
        """Queues a copy of all bytes of src into dst; returns its Future."""

    def wait_event(self, event: Event, /) -> None:
        """Makes later work wait for what event records now. Does not block."""

    def record_event(self, event: Event | None = None) -> Event:
        """
        Records event, or a new one without timing, behind what is queued; returns it.
        """

    def query(self) -> bool:
        """True if everything queued is complete. Never blocks."""

    def synchronize(self, timeout: float | None = None) -> None:
        """
        Blocks until everything queued is complete; raises its first error once.
        """

    def close(self, timeout: float | None = None) -> None:
        """
        Refuses new work, waits for what is queued, raises an error that was not raised before. Idempotent.
        """

    def _adopt(self, capsule: object, /) -> None: ...

    def _ticket(self) -> Ticket: ...

    def __enter__(self) -> Self:
        """Makes this the current stream of the thread."""

    def __exit__(self, *exc: object) -> None: ...

    @property
    def stream_id(self) -> int:
        """Unique in the process, kept for life."""

    @property
    def priority(self) -> int:
        """As given."""

    @property
    def max_pending(self) -> int | None:
        """
        How many work items may be queued before submit blocks; None: any number.
        """

    @property
    def name(self) -> str | None:
        """As given, for messages."""

    @property
    def pending(self) -> int:
        """Work items queued and not started."""

    @property
    def closed(self) -> bool:
        """True once close() was called."""

    @property
    def native_handle(self) -> int:
        """The driver's own handle, or 0."""

    @property
    def device_type(self) -> str:
        """The type of its device, such as 'cpu'."""

    @property
    def device_index(self) -> int:
        """The index of its device within the type."""

    @property
    def _device_stream(self) -> Any:
        """The stream object of its DeviceBackend, or None."""

class EventBase:
    """The native half of eventide.Event."""

    def __init__(self, device_type: str | None, index: int, enable_timing: bool, blocking: bool, /) -> None: ...

    def record(self, stream: Stream | None = None, needs_lock: bool = True, sync_event: bool = False) -> None:
        """
        Puts a new marker behind what is queued in stream (default: the current one). The flags are those of torch's MPS events, and have no effect.
        """

    def wait(self, stream: Stream | None = None, needs_lock: bool = True, sync_event: bool = False) -> None:
        """
        Makes later work of stream wait for what is recorded now. Does not block. The flags are those of torch's MPS events, and have no effect.
        """

    def query(self) -> bool:
        """
        True if the work before the last record is complete, or nothing was recorded. Never blocks.
        """

    def synchronize(self, timeout: float | None = None) -> None:
        """Blocks until the work before the last record is complete."""

    def elapsed_time(self, end: Event, /) -> float:
        """Milliseconds from this event to end."""

    def notify(self, fn: Callable[[Event], object], /) -> bool:
        """
        Calls fn(event) once when what is recorded now completes: True. If nothing is pending it is called at once: False.
        """

    def _reset(self, enable_timing: bool, stream: Stream | None, /) -> None: ...

    def _ticket(self) -> Ticket: ...

    @property
    def event_id(self) -> int:
        """Unique in the process, kept for life; shows 0 until the first record."""

    @property
    def _id(self) -> int:
        pass

    @property
    def version(self) -> int:
        """How often it was recorded."""

    @property
    def completed_at(self) -> int:
        """
        When the device passed what was recorded last: ns on the trace's clock.
        """

    @property
    def enable_timing(self) -> bool:
        """As given."""

    @property
    def blocking(self) -> bool:
        """As given."""

    @property
    def _device(self) -> tuple[str | None, int | None]: ...

class EventPoolBase:
    """The native half of eventide.EventPool."""

    def __init__(self, device_type: str, index: int, /) -> None: ...

    def _acquire(self, enable_timing: bool, stream: Stream | None, /) -> Event: ...

    def _acquire_id(self, enable_timing: bool, /) -> int: ...

    def _find(self, event_id: int, /) -> Event: ...

    def _release(self, event: Event, /) -> bool: ...

    def empty_cache(self) -> None:
        """Destroys the events that are not in use."""

    def _stats(self) -> tuple[int, int, int, int]: ...

class RegistryBase:
    """The native half of eventide.hooks.CallbackRegistry."""

    def __init__(self, hook: int, /) -> None: ...

    def fire_callbacks(self, *args: Any) -> None:
        """Calls all listeners of this hook, as the runtime does."""

    @property
    def name(self) -> str:
        """The name of the hook."""

class Ticket:
    """One wait for a marker that blocks no thread."""

    def notify(self, fn: Callable[[], object], /) -> bool:
        """
        Calls fn() when the marker completes and returns True; returns False if it is complete already.
        """

    def result(self) -> None:
        """
        Raises the error of the work, if any. Call it after the marker has completed.
        """

    def abandon(self) -> None:
        """
        Ends the wait. An error that it would have raised is left to the stream.
        """

def adopt_methods(cls: type) -> None:
    """
    Gives a subclass of a native type its methods as its own: the interpreter's fast path for calls requires that.
    """

def set_classes(load_future: object, event: object, work: object) -> None:
    """
    The Python classes that native code makes instances of; that of Future is fetched when first needed.
    """

def set_stream_factories(make_default: object, rewrap: object) -> None:
    """How a default stream, or another handle on a stream, is made."""

def current_stream(device_type: str, index: int) -> Stream: ...

def default_stream(device_type: str, index: int) -> Stream: ...

def stream_by_id(stream_id: int) -> Stream | None:
    """The stream with that id; None if it no longer exists."""

def set_stream(stream: object | None) -> None: ...

def current_device() -> tuple[str, int]: ...

class HookRecord:
    """
    What happened at a hook. Fields that do not apply are 0, empty or None.
    """
    @property
    def hook(self) -> str: ...
    @property
    def end(self) -> bool: ...
    @property
    def outcome(self) -> str: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def thread(self) -> int: ...
    @property
    def device(self) -> str | None: ...
    @property
    def stream(self) -> int: ...
    @property
    def event(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def reads(self) -> tuple[tuple[int, int], ...]: ...
    @property
    def writes(self) -> tuple[tuple[int, int], ...]: ...
    @property
    def accesses_known(self) -> bool: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def waited_ns(self) -> int: ...
    @property
    def stack(self) -> tuple[tuple[str, int, str], ...]: ...

HOOKS: tuple[str, ...] = ...

def listening(hook: int, /) -> bool:
    """True while the hook has a listener."""

def host_access(reads: tuple[tuple[Any, ...], ...], writes: tuple[tuple[Any, ...], ...], /) -> None:
    """Reports memory that this thread itself accesses."""

def work_access(reads: tuple[tuple[Any, ...], ...], writes: tuple[tuple[Any, ...], ...], name: str, /) -> bool:
    """
    Reports memory that the work on this thread accesses; False if this thread runs none.
    """

def new_token() -> int:
    """A number that was not returned before."""

def host_signal(token: int = ..., /) -> int:
    """Reports a signal to another thread; returns the token."""

def host_memory(address: int, nbytes: int, begins: bool, /) -> None:
    """Reports to native listeners that host memory is allocated or freed."""

def host_wait(token: int, /) -> None:
    """Reports that this thread received the token."""

def hook_add(hook: int, callback: object, device_type: str | None, index: int, observer: bool, end: bool) -> int: ...

def hook_remove(hook: int, number: int) -> bool: ...

def hook_clear(hook: int) -> None: ...

def hook_callbacks(hook: int) -> tuple[Callable[..., Any], ...]:
    """The callbacks of a hook in order, without observers."""

def hook_statistics(hook: int) -> tuple[int, int, int]:
    """(callbacks, fired, errors)"""

def feed_device(name: str) -> int:
    """The number of a foreign device; the same name has the same."""

def feed_stream() -> int:
    """The id of a foreign stream."""

def feed_event() -> int:
    """The id of a foreign event."""

def feed_work() -> int:
    """The id of foreign work."""

def feed(hook: int, device: int = -1, stream: int = 0, event: int = 0, version: int = 0, work: int = 0, handle: int = 0, bytes: int = 0, start_ns: int = 0, end_ns: int = 0, waited_ns: int = 0, outcome: int = 0, end: bool = False, name: str = '', group: str = '', reads: object | None = None, writes: object | None = None) -> None:
    """Calls all listeners of a hook, as the runtime does."""

class DeviceWork:
    """Work, as a device receives it."""

    def run(self) -> None:
        """
        Runs the work, once, on this thread. Never raises what the work raises.
        """

    @property
    def name(self) -> str:
        """The name of the work, for messages."""

    @property
    def duration(self) -> float | None:
        """The seconds it declares to take, or None."""

def device_types() -> list[tuple[str, int]]:
    """(type, count) of every registered device type."""

def device_capabilities(device_type: str, index: int) -> dict[str, Any]: ...

def device_load(path: str, name: str) -> str:
    """Loads a device from a shared library; returns its type."""

def cpu_table() -> int:
    """
    The address of the cpu device's table of eventide/device.h, for other runtimes that use it.
    """

def device_unregister(device_type: str) -> None:
    """Makes a device type unknown again; it must have no streams."""

def device_register(device_type: str, backend: object) -> None:
    """Registers a DeviceBackend for the life of the process."""

def device_description(device_type: str, index: int) -> str: ...

class ClockModel:
    """What a clock shows, on CLOCK_MONOTONIC, with a bound on the error."""

    def __init__(self) -> None: ...

    def add(self, before: int, device: int, after: int) -> None:
        """A reading of the clock between two of CLOCK_MONOTONIC."""

    def at(self, device: int) -> tuple[int, int]:
        """(CLOCK_MONOTONIC ns, the largest error; -1: there was no reading)."""

    def state(self) -> dict[str, Any]:
        """
        samples, drift, wander, anchors: (CLOCK_MONOTONIC ns, offset, error) each.
        """

def device_clock(device_type: str, index: int, sample: bool) -> dict[str, Any] | None: ...

def buffer_address(view: object) -> int:
    """The address of the first item of anything with the buffer protocol."""

def dlpack_layout(capsule: object) -> tuple[int, tuple[int, ...], tuple[int, ...] | None, int]:
    """
    (address, shape, strides in bytes or None, itemsize) of the memory behind a DLPack capsule.
    """

def set_copy_watcher(watcher: object | None) -> None:
    """Called with each end of a copy."""

class BufferBase:
    """The native half of eventide.Buffer."""

    def __init__(self, device_type: str, index: int, nbytes: int) -> None: ...

    @property
    def nbytes(self) -> int:
        """Its size."""

    @property
    def ptr(self) -> int:
        """Its address."""

    @property
    def freed(self) -> bool:
        """True after free()."""

    def __len__(self) -> int: ...

    def __buffer__(self, flags: int, /) -> memoryview: ...

    def free(self) -> None:
        """
        Frees the memory, once the streams given to record_stream have passed this point. Idempotent.
        """

    def record_stream(self, stream: object | None) -> None:
        """
        Work queued on stream up to free() may use the memory: it is kept until then.
        """

    def _dlpack(self, versioned: bool) -> object: ...

    @property
    def _device(self) -> tuple[str, int]: ...

def synchronize_device(device_type: str, index: int, timeout: float | None, /) -> None:
    """Blocks until every stream of the device is idle."""

def note_main_thread(ident: int) -> None:
    """Which thread gets signals."""

def exit_with(code: int) -> None:
    """The exit code of this process, whatever code the program gives."""

def call_on_main_thread(callable: object) -> None:
    """Called by the main thread as soon as it runs Python code."""

def now_ns() -> int:
    """The trace's clock: CLOCK_MONOTONIC in nanoseconds."""

def callbacks_run() -> int:
    """How many callbacks and calls of devices the threads for them have run."""

def after_fork_in_child() -> None: ...

def shut_down(timeout: float) -> int:
    """
    Waits for all streams, then abandons their workers; returns how many work items were left.
    """

class Sanitizer:
    """The sanitizer's engine; see native/core/sanitizer/engine.hpp."""

    def __init__(self, *, predict: bool = False, max_freed: int = 65536, numbered: bool = False, unseen_hand_over: bool = False) -> None: ...

    def submit(self, stream: int, reads: object, writes: object, known: bool = True, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def host_access(self, reads: object, writes: object, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def work_access(self, stream: int, reads: object, writes: object, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def allocate(self, address: int, bytes: int, stream: int = 18446744073709551615, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def free(self, address: int, stream: int = 18446744073709551615, idle: bool = False, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def record_stream(self, address: int, stream: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def create_stream(self, stream: int, device: int = 0, behind: int = 18446744073709551615) -> None: ...

    def create_event(self, event: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def delete_event(self, event: int) -> None: ...

    def record(self, event: int, stream: int, version: int = 18446744073709551615, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def wait(self, event: int, stream: int, version: int = 18446744073709551615, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def signal(self, token: int, stream: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def wait_signal(self, token: int, stream: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def collective(self, ranks: Sequence[tuple[int, int, int, int]]) -> None:
        """Of each: stream, thread, work, past."""

    def wait_known(self, stream: int, known: Mapping[tuple[bool, int], int], *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def synchronize_numbered(self, works: Sequence[int], *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def over_at(self, work: int) -> dict[tuple[bool, int], int]:
        """The number of completed operations of each (is a thread, id)."""

    def synchronize_event(self, event: int, version: int = 18446744073709551615, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def synchronize_stream(self, stream: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def synchronize_device(self, device: int = 0, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def mark_thread(self, token: int, thread: int) -> None: ...

    def host_signal(self, token: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def host_wait(self, token: int, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def enter_work(self, stream: int, work: int, *, thread: int = 0) -> None: ...

    def leave_work(self, stream: int) -> None: ...

    def finish(self, leaks: bool = False, *, thread: int = 0, stack: int = 0, work: int = 0, name: str = '', past: int = 0, inside: int = 18446744073709551615) -> None: ...

    def findings(self) -> list[dict[str, Any]]: ...

    def coverage(self) -> dict[str, int]: ...

class SanitizerFeed:
    """Feeds a Sanitizer with the rows of a trace's operations."""

    def __init__(self, sanitizer: Sanitizer) -> None: ...

    def on_hook(self, hook: str, end: bool, thread: int, device: int, stream: int, event: int, version: int, work: int, handle: int, bytes: int, name: str, group: str, accesses: object | None, stack: int) -> bool:
        """Feeds one row. False: there is no such hook."""

class LiveSanitizer:
    """
    The native half of eventide.sanitize: an engine that is fed by the hooks.
    """

    def __init__(self, predict: bool, stacks: bool) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None:
        """Stops listening to the hooks. Idempotent."""

    def on_finding(self, callback: Callable[[int], None] | None) -> None:
        """Called with the number of findings when there are new ones; may raise."""

    def end_of_program(self, leaks: bool) -> None: ...

    def findings(self) -> list[dict[str, Any]]: ...

    def stream_names(self) -> dict[int, str]: ...

    def coverage(self) -> dict[str, int]: ...

class Lanes:
    """The lanes on which the spans of each track nest."""

    def lane(self) -> numpy.typing.NDArray[numpy.int32]:
        """Of each span."""

    def track(self) -> numpy.typing.NDArray[numpy.int32]:
        """Of each lane."""

    def order(self) -> numpy.typing.NDArray[numpy.int64]:
        """The rows of the spans, lane by lane, outer before inner."""

def assign_lanes(spans: dict[str, Any], tracks: int) -> Lanes:
    """Puts each span on the first lane of its track on which it nests."""

def deflate(data: bytes) -> bytes:
    """The bytes as a zlib stream, as .pftrace has its packets."""

def write_pftrace(write: Callable[[bytes], object], lanes: Lanes, tables: dict[str, dict[str, Any]], names: dict[str, Any], base: int, first: int, first_track: int) -> int:
    """
    Writes track events through `write`; returns how many edges became arrows.
    """

def write_chrome(write: Callable[[bytes], object], lanes: Lanes, tables: dict[str, dict[str, Any]], names: dict[str, Any], layout: dict[str, Any], base: int, first: bool) -> int:
    """
    Writes Chrome's events through `write`; returns how many edges became arrows.
    """

class PftraceReader:
    """Reads Perfetto's track events."""

    def __init__(self) -> None: ...

    def feed(self, data: bytes, at: int) -> tuple[int, bytes]:
        """
        Reads packets from `at` on; returns where it stopped, and the compressed packets that come next.
        """

    def finish(self) -> dict[str, Any]:
        """Pairs begins with ends and returns everything."""

def read_xplane(data: bytes) -> dict[str, Any]:
    """
    Everything in a profile of JAX (XSpace); only `damaged`, an offset and why, where it is not one.
    """

class ChromeDocument:
    """A Chrome trace as a stream of bytes; see chrome_document.hpp."""

    def __init__(self, known_categories: Sequence[str], max_value: int) -> None: ...

    def feed(self, piece: bytes) -> None:
        """The next bytes of the file."""

    def finish(self) -> str:
        """
        How the file ended: whole, open, cut, bad, no events, empty. Nothing may follow.
        """

    def columns(self) -> dict[str, Any]:
        """Every column; valid after finish()."""

    def account(self) -> dict[str, Any]:
        """
        What was read, ignored and repaired, and the members beside the events.
        """

def enclosing_spans(track: Any, start: Any, duration: Any, at_track: Any, at_time: Any, inside: Any) -> Any:
    """The row of the innermost span that holds each point, or -1."""

def capture_stack() -> int:
    """
    The number of the caller's stack: equal stacks have equal numbers, for the life of the process.
    """

def resolve_stack(stack: int) -> tuple[tuple[str, int, str], ...]:
    """(file, line, function) of each frame, innermost first."""

def hide_code(code: CodeType) -> None:
    """
    Frames of this code, and of no other that was hidden before, are left out of stacks.
    """

def stack_statistics() -> tuple[int, int]:
    """(interned, captures lost beyond the limit)"""

def profiler_request(what: int) -> None:
    """Sets what backends are to report to the running profiles, as bits."""

def profiler_record(runs: bool) -> None:
    """
    A recording that is not of a profile runs, or no longer: backends report events and memory.
    """

def profiler_connect() -> int:
    """
    Connects the shared objects that were loaded before this one and use eventide/profiler.h; returns how many.
    """

def torch_device_types() -> list[str]:
    """c10::DeviceType, by its numbers."""

def torch_device(name: str) -> tuple[int, int]:
    """A device as torch's files number it."""

def profiler_refused() -> int:
    """The number of events from C that were refused for an invalid time."""

def profiler_event(start_us: int, end_us: int, debug_handle: int, name: object, backend: object) -> bool: ...

def profiler_memory_event(address: int, size: int, allocated: int, reserved: int, device: object, at_ns: int = 0) -> None: ...

def profiler_clock(backend: object, before_us: int, backend_us: int, after_us: int) -> None: ...

def instant(name: str, /, **args: object) -> None:
    """
    Records a point in time on this thread. Without a recording it costs a few nanoseconds.
    """

def counter(name: str, value: float, /) -> None:
    """Records the value of a counter, valid from now on."""

class span:
    """
    A piece of host code with a name: `with span("load", batch=3): ...`, or `@span("load")`
    above a function, a generator or a coroutine. One span object may be entered again and again, also by
    recursion and by several threads.
    """
    def __init__(self, name: str, /, **args: object) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def __call__(self, function: Callable[P, T], /) -> Callable[P, T]: ...
    @property
    def name(self) -> str: ...
    def _copy(self) -> span: ...

def set_span_helpers(decorate: object, describe: object) -> None: ...

def set_span_annotator(make: object | None) -> None:
    """
    make(name), a context manager, is entered and left with every span from now on; None: no more.
    """

def recorder_start(path: str, buffer: int, ring: bool, durable: bool, stacks: bool, about: str, dump_signal: int, hang_ns: int) -> None: ...

def recorder_stop() -> tuple[str, str]:
    """Ends the recording; (buffer, error) of what could not be written."""

def sampler_start(period_ns: int) -> None:
    """
    Records the stack of every thread each period, as instants, until sampler_stop().
    """

def sampler_stop() -> None: ...

def recorder_path() -> str:
    """The file that is being recorded to; empty: none."""

def recorder_flush() -> None:
    """Writes the chunks that are full now."""

def recorder_note(json: str) -> None:
    """Keeps a JSON object with the trace that is being recorded."""

def record_span(track: str | None, name: str, category: str | None, start_ns: int, end_ns: int, args: str | None = None, stack: int = 0, submit_ns: int = 0, cpu_ns: int = 0, work: int = 0, correlation: int = 0, outcome: str | None = None) -> None:
    """
    A finished span with its times (CLOCK_MONOTONIC, ns). track: None for this thread's own, a name, or JSON with columns of tracks; args: a JSON object as text.
    """

def record_instant(track: str | None, name: str, category: str | None = None, args: str | None = None, stack: int = 0, time_ns: int = 0) -> None:
    """A point in time; 0: now."""

def record_counter(track: str | None, name: str, value: float, time_ns: int = 0) -> None:
    """The value of a counter from one time on; 0: now."""

def record_edge(kind: str, from_track: str | None, from_ns: int, to_track: str | None, to_ns: int, event: int = 0, version: int = 0, correlation: int = 0) -> None:
    """A dependency of one span on another: launch, wait, synchronize, flow."""

class Intercepted:
    """A function with calls before and after it."""

    def __init__(self, original: object, before: object | None, after: object | None) -> None:
        """
        before(args, kwargs) returns other positional arguments or None, and may change kwargs; after(result, args) is called in any case, with None for an error.
        """

    @property
    def original(self) -> object:
        """The function."""

    def __call__(self, *args: object, **kwargs: object) -> object: ...

def child_started(pid: int, start_ns: int, name: str, about: str) -> None:
    """Records the life of a child process, from its start to its end."""

def child_reaped(pid: int, code: int) -> None:
    """
    The program has waited for it; a negative code is the signal that killed it.
    """

def end_children() -> None:
    """Records the children that still run: the recording ends."""

class ClockServer:
    """Answers questions for CLOCK_MONOTONIC of this process over UDP."""

    def __init__(self, host: str, token: str) -> None: ...

    @property
    def port(self) -> int:
        """Of the UDP socket."""

def ask_clock(host: str, port: int, token: str, count: int, patience_ms: int) -> list[tuple[int, int, int, int]]:
    """
    Times of questions and answers: sent, received, answered, returned; empty if there is no answer.
    """

def time_puts(n: int, bare: bool) -> float:
    """
    Nanoseconds per entry: put into the running recording, or bare, a stamp and a store.
    """

def slowest_puts(n: int) -> tuple[dict[str, float], dict[str, float]]:
    """
    Of n puts, and of n plain stores between them: the median and the slowest step in which the thread ran, was preempted, or blocked, in nanoseconds; 0 where none was.
    """

def torch_operators_start(operators: int, gradients: int, annotations: int) -> None:
    """
    Operators of all threads become spans of the recording that runs, until torch_operators_stop(). The arguments are scopes of torch's record functions, bit s for scope s.
    """

def torch_operators_stop() -> None: ...

def torch_operators_other_source(on: bool) -> None:
    """
    Another source records the operators of muted threads from True until False. Calls nest.
    """

def torch_operators_mute(on: bool) -> None:
    """
    This thread is muted from True until False, which is optional. Calls nest.
    """

def torch_operators_muted() -> bool:
    """Whether another source records the operators of this thread."""

def torch_operator_in_detail(name: str) -> None:
    """
    The other source records this operator of a muted thread, and calls it once more.
    """

def torch_operators_hide(on: bool) -> None:
    """
    What a muted thread calls from True until False belongs to the other source.
    """

def torch_operators_recorded() -> int:
    """The number of operators that became spans in this process."""

def torch_operators_probe(which: int) -> None:
    """
    Keeps the next operator instead of recording it, as the first (0) or the second (1) of two; 2: the next gradient.
    """

def torch_operators_probed() -> bool:
    """Ends the probe. True if an operator was kept."""

def torch_operators_calibrate(first: int, second: int, gradient: int) -> bool:
    """
    Sets the sequence numbers of the probed operators; True: gradients are linked to their operators from now on.
    """

class RawTrace:
    """A trace file in memory: its frames are checked, and not decoded."""

    @property
    def has_buffer(self) -> bool:
        """Whether the buffer of a recording that was not closed is part of this."""

    def columns(self) -> dict[str, Any]:
        """
        The columns of everything in it, as arrays, and the metadata of the file.
        """

def load_trace(path: str) -> RawTrace:
    """
    Reads a trace file into memory; later changes of the file have no effect.
    """

def recover_trace(path: str) -> None:
    """Closes the file of a process that was killed."""

def copy_trace(path: str, to: str, note: str) -> None:
    """Writes a closed copy of a trace, also of one that is being recorded."""

def derive_work(
    operations: Mapping[str, NDArray[Any]], hooks: Sequence[str], first_span: int, first_track: int
) -> dict[str, Any]:
    """
    Spans, edges, streams and levels of memory that follow from operations in the order of time.
    """

def nest_spans(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], parent: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], self_time: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], times: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], owner: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Who is innermost on a thread, moment by moment; gives the number of segments.
    """

def relax_edges(source: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gap: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slack: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Lower slack[source] to gap + slack[target], edge by edge."""

def follow_nodes(pred: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: int, begin: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    The nodes along pred until one that begins no later than `begin`; gives their number.
    """

def order_dependencies(source: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: int, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Put the edges into an order for schedule_nodes; gives the number of nodes that no cycle holds up.
    """

def schedule_nodes(source: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lag: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], number: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], duration: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], binding: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Raise `start` from release times to the schedule; `binding` is the edge that was satisfied last.
    """

def bound_clock_offsets(first_row: NDArray[numpy.int64], collective: NDArray[numpy.int64], start: NDArray[numpy.int64], end: NDArray[numpy.int64], role: NDArray[numpy.uint8], collectives: int, reference: int, drift: float, low_at_start: NDArray[numpy.float64], high_at_start: NDArray[numpy.float64], low_at_end: NDArray[numpy.float64], high_at_end: NDArray[numpy.float64], most_rounds: int) -> tuple[int, int, int] | None:
    """
    Bound the clock offsets of ranks by their collectives; (rank, row, row) if two rows contradict.
    """
