"""Streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Self, TypeVar, cast

from eventide import _native
from eventide._util import process
from eventide._util.subscription import Subscription
from eventide.errors import DeviceError, UsageTypeError, UsageValueError
from eventide.runtime._device import Device, as_device

if TYPE_CHECKING:
    from types import TracebackType

    from eventide.backends import DeviceBackend
    from eventide.runtime._future import Future

P = ParamSpec("P")
T = TypeVar("T")


class Stream(_native.StreamBase):
    """An ordered queue of work on one device, with a worker of its own.

    ``with stream:`` makes it the current stream of this thread. ``close()`` drains it and refuses more; a stream that
    is dropped completes its queue and then ends. ``Stream(stream_id=7)`` is the existing stream with that id.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, *args: Any, stream_id: int | None = None, **kwargs: Any) -> Self:  # noqa: ARG004  (for __init__)
        """A new object, or the one of an existing stream."""
        return super().__new__(cls) if stream_id is None else cast("Self", _existing(stream_id))

    def __init__(
        self,
        device: str | Device | None = None,
        priority: int = 0,
        max_pending: int | None = None,
        *,
        name: str | None = None,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: str | None = None,
    ) -> None:
        where = _where(device, device_type, device_index)
        if stream_id is not None:
            given = {"priority": priority, "max_pending": max_pending, "name": name}
            _check_existing(self, where, [option for option, value in given.items() if value])
            return
        _check_priority(where or as_device(None), priority)
        where = where or as_device(None)
        super().__init__(where.type, where.index or 0, priority, _checked_limit(max_pending), name or "")

    @classmethod
    def wrap(cls, existing: object, *, max_pending: int | None = None, name: str | None = None) -> Self:
        """Wrap an existing stream: a ``pyopencl.CommandQueue``, a ``torch.Stream``, anything with ``__cuda_stream__``.

        It can still be used directly; ``query`` covers only work that was submitted through Eventide.
        """
        from eventide.runtime._wrap import device_of

        if isinstance(existing, cls):
            return existing
        device, native = device_of(existing)
        stream = cls.__new__(cls)
        _native.StreamBase.__init__(
            stream, device.type, device.index or 0, 0, _checked_limit(max_pending), name or "", native
        )
        return stream

    @classmethod
    def open(
        cls,
        device: str | Device | None = None,
        priority: int = 0,
        max_pending: int | None = None,
        *,
        name: str | None = None,
    ) -> OpenStream:
        """A stream for one block: ``with Stream.open("cpu") as stream:`` closes it at the end, as an Executor does.

        Inside the block it is also the current stream. The end of the block waits for all work and raises its first
        error. If the block itself raises, that error propagates, and an error of the work is added to it as a note.
        """
        return OpenStream(cls(device, priority, max_pending, name=name))

    if TYPE_CHECKING:

        def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...

    @property
    def device(self) -> Device:
        """The device it runs on."""
        return Device(self.device_type, self.device_index)

    @property
    def native(self) -> Any:
        """The driver's own object, such as a ``pyopencl.CommandQueue``; None where there is none."""
        backend = _backend_of(self.device_type)
        return None if backend is None else backend.native(self._device_stream)

    def _copy_by_device(self, dst: object, src: object) -> Future[None]:
        """``copy`` on an immediate device."""
        from eventide.runtime._copy import device_copy

        return device_copy(self, _backend_of(self.device_type), dst, src)

    def wait_stream(self, other: Stream) -> None:
        """Make later work wait for everything that is queued on another stream now. Does not block."""
        if not isinstance(other, Stream):
            raise UsageTypeError(f"wait_stream needs a Stream, not {type(other).__name__}")
        self.wait_event(other.record_event())

    def __await__(self) -> Generator[Any, None, None]:
        from eventide.runtime._wait import wait_for  # imports asyncio, which `import eventide` does not need

        return wait_for(self._ticket())

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Stream cannot be pickled: its queue and its worker live in this process")

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        state = ", closed" if self.closed else ""
        return f"<Stream {self.stream_id}{name} on {self.device_type}:{self.device_index}{state}>"


class OpenStream:
    """What ``Stream.open`` returns."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> Stream:
        return self._stream.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.__exit__(kind, error, trace)
        if error is None:
            self._stream.close()
            return
        try:
            self._stream.close()
        except Exception as late:  # noqa: BLE001 - the error of the block is the first
            error.add_note(f"closing {self._stream!r} raised {type(late).__name__}: {late}")


def _where(device: str | Device | None, kind: str | None, index: int | None) -> Device | None:
    """The device that was given, in one piece or, as for torch.Stream, as type and index."""
    if kind is None and index is None:
        return None if device is None else as_device(device)
    if device is not None:
        raise UsageTypeError(f"Stream() got both a device, {device!r}, and its type or index; give one")
    return Device(as_device(None).type if kind is None else kind, index)


def _existing(stream_id: object) -> Stream:
    if not isinstance(stream_id, int) or isinstance(stream_id, bool):
        raise UsageTypeError(f"stream_id must be an int, not {type(stream_id).__name__}")
    found = _native.stream_by_id(stream_id) if 0 < stream_id < 1 << 63 else None
    if found is None:
        raise UsageValueError(f"there is no stream with the id {stream_id}; stream.stream_id has that of a stream")
    return found


def _check_existing(stream: Stream, where: Device | None, options: list[str]) -> None:
    """What is given beside the id of a stream has to be true of it."""
    if options:
        raise UsageTypeError(f"{options[0]} belongs to a new stream, and {stream!r} exists; give the id alone")
    there = (stream.device_type, stream.device_index)
    if where is not None and there != (where.type, there[1] if where.index is None else where.index):
        raise UsageValueError(f"{stream!r} is not on {where}; give its own device, or none")


_INT32 = (-(1 << 31), (1 << 31) - 1)


def _check_priority(where: Device, priority: object) -> None:
    if not isinstance(priority, int):
        raise UsageTypeError(f"priority must be an int, not {type(priority).__name__}")
    backend = _backend_of(where.type) if priority else None  # 0 is the priority of every device
    limits: Any = backend.priority_range(where.index or 0) if backend is not None else None
    try:
        low, high = sorted(int(number) for number in limits) if limits is not None else _INT32
    except (TypeError, ValueError):
        raise DeviceError(
            f"{type(backend).__name__}.priority_range() returned {limits!r}; it must be two whole numbers or None"
        ) from None
    if not low <= priority <= high:
        raise UsageValueError(f"a priority on {where} is from {low} to {high}, not {priority}")


def _checked_limit(max_pending: int | None) -> int:
    if max_pending is None:
        return 0
    if not isinstance(max_pending, int) or isinstance(max_pending, bool):
        raise UsageTypeError(f"max_pending must be an int or None, not {type(max_pending).__name__}")
    if not 0 < max_pending < 1 << 32:
        raise UsageValueError(f"max_pending must be at least 1, or None for no limit; got {max_pending}")
    return max_pending


def _backend_of(kind: str) -> DeviceBackend | None:
    """The backend of a device type that is written in Python."""
    from eventide.backends.registry import BACKENDS

    return BACKENDS.get(kind)


class _Wrappers:
    """The functions of wrap_submitted()."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards the others
        self.functions: tuple[Callable[[Any], Any], ...] = ()
        self.native_submit: Any = None  # the method that is replaced while there are functions

    def after_fork(self) -> None:
        self.lock = threading.Lock()  # its owner may be a thread of the parent


_wrappers = _Wrappers()
process.after_fork(_wrappers.after_fork)


def wrap_submitted(wrap: Callable[[Any], Any]) -> Subscription:
    """Submit wrap(fn) in place of each fn, until the result is closed: for tools that observe work.

    Without a registration, ``Stream.submit`` is the native method, at no cost.
    """

    def close() -> None:
        _set_wrappers(remove=wrap)

    _set_wrappers(add=wrap)
    return Subscription("submitted work", close)


def _set_wrappers(*, add: Callable[[Any], Any] | None = None, remove: Callable[[Any], Any] | None = None) -> None:
    with _wrappers.lock:
        kept = tuple(one for one in _wrappers.functions if one is not remove)
        _wrappers.functions = kept if add is None else (*kept, add)
        if _wrappers.native_submit is None:
            _wrappers.native_submit = Stream.submit
        Stream.submit = _submit_wrapped if _wrappers.functions else _wrappers.native_submit  # type: ignore[method-assign]


def _submit_wrapped(self: Stream, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    for wrap in _wrappers.functions:
        fn = wrap(fn)
    return _wrappers.native_submit(self, fn, *args, **kwargs)
