"""Declared work: a function, a name, and the memory it reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from eventide import _native
from eventide.errors import UsageTypeError, UsageValueError

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterable

P = ParamSpec("P")
T = TypeVar("T")
Range = tuple[int, int]


class Work(Generic[P, T]):
    """A function that says what it touches. Calling it runs the function; ``Stream.submit`` takes it like any other."""

    def __init__(
        self, fn: Callable[P, T], name: str | None, reads: object, writes: object, duration: float | None
    ) -> None:
        if not callable(fn):
            raise UsageTypeError(f"work needs a callable, not {type(fn).__name__}")
        if duration is not None and (isinstance(duration, bool) or not isinstance(duration, int | float)):
            raise UsageTypeError(f"duration is a number of seconds or None, not {type(duration).__name__}")
        if duration is not None and not 0 <= duration < float("inf"):
            raise UsageValueError(f"duration is a number of seconds, 0 or more; got {duration}")
        self.fn = fn
        self.name = name or getattr(fn, "__qualname__", type(fn).__name__)
        self.duration = duration
        self._signature: inspect.Signature | None = None
        self.reads = self._declared("reads", reads)
        self.writes = self._declared("writes", writes)
        self.__wrapped__ = fn
        self.__name__ = getattr(fn, "__name__", self.name)
        self.__qualname__ = getattr(fn, "__qualname__", self.name)
        self.__module__ = getattr(fn, "__module__", __name__)
        self.__doc__ = getattr(fn, "__doc__", None)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Work[..., T]:
        """As a method it binds like a function: the names still speak of the function's parameters."""
        if instance is None:
            return self
        return Work(self.fn.__get__(instance, owner), self.name, self.reads, self.writes, self.duration)

    def __repr__(self) -> str:
        return f"<Work {self.name!r} reads={self.reads!r} writes={self.writes!r}>"

    def _declared(self, what: str, declared: object) -> tuple[object, ...]:
        """Names of parameters, checked now, or objects, looked at when somebody wants to know."""
        items = tuple(declared) if isinstance(declared, list | tuple) else (declared,)
        for item in items:
            if isinstance(item, str):
                if self._signature is None:
                    import inspect  # takes longer to import than eventide

                    self._signature = inspect.signature(self.fn)
                if item not in self._signature.parameters:
                    known = ", ".join(self._signature.parameters) or "none"
                    raise UsageValueError(f"{what}={item!r} is not a parameter of {self.name}; it has {known}")
        return items

    def _accesses(self, *args: Any, **kwargs: Any) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        """The address ranges that a call with these arguments reads and writes."""
        values: dict[str, Any] = {}
        if self._signature is not None:
            call = self._signature.bind(*args, **kwargs)
            call.apply_defaults()
            values = call.arguments
        return _ranges(self.reads, values), _ranges(self.writes, values)


def _ranges(declared: Iterable[object], values: dict[str, Any]) -> tuple[Range, ...]:
    objects = (values[item] if isinstance(item, str) else item for item in declared)
    return tuple(_range_of(thing) for thing in objects if thing is not None)


def _range_of(thing: Any) -> Range:
    """The lowest address and the extent of whatever holds memory."""
    if isinstance(thing, _native.BufferBase):
        return thing.ptr, thing.nbytes
    for protocol in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(thing, protocol, None)
        if interface is not None:
            return _extent(
                interface["data"][0], interface["shape"], interface.get("strides"), int(interface["typestr"][2:])
            )
    if hasattr(thing, "data_ptr") and hasattr(thing, "element_size"):  # a torch tensor
        size = thing.element_size()
        return _extent(thing.data_ptr(), tuple(thing.shape), tuple(n * size for n in thing.stride()), size)
    if hasattr(thing, "__dlpack__"):
        return _native.dlpack_range(thing.__dlpack__())
    try:
        view = memoryview(thing)
    except TypeError:
        raise UsageTypeError(f"reads and writes take Buffers, arrays and tensors, not {type(thing).__name__}") from None
    return _native.buffer_address(view), view.nbytes


def _extent(address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> Range:
    if 0 in shape:
        return address, 0
    if strides is None:
        total = itemsize
        for n in shape:
            total *= n
        return address, total
    low = sum(stride * (n - 1) for n, stride in zip(shape, strides, strict=True) if stride < 0)
    high = sum(stride * (n - 1) for n, stride in zip(shape, strides, strict=True) if stride > 0)
    return address + low, high - low + itemsize


@overload
def work(
    fn: Callable[P, T],
    *,
    name: str | None = None,
    reads: object = (),
    writes: object = (),
    duration: float | None = None,
) -> Work[P, T]: ...
@overload
def work(
    fn: None = None, *, name: str | None = None, reads: object = (), writes: object = (), duration: float | None = None
) -> Callable[[Callable[P, T]], Work[P, T]]: ...
def work(
    fn: Callable[P, T] | None = None,
    *,
    name: str | None = None,
    reads: object = (),
    writes: object = (),
    duration: float | None = None,
) -> Work[P, T] | Callable[[Callable[P, T]], Work[P, T]]:
    """Declare what a function reads and writes: by parameter name where it is defined, or by object for one call.

    `duration` is for devices with virtual time, in seconds.
    """
    if fn is None:
        return lambda function: Work(function, name, reads, writes, duration)
    return Work(fn, name, reads, writes, duration)
