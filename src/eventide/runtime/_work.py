"""Declared work: a function, a name, and the memory it reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from eventide.errors import UsageTypeError, UsageValueError
from eventide.runtime.access._access import Accesses, accesses_of, report_once
from eventide.runtime.access._needed import accesses_are_declared

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable

    from eventide.runtime.access._types import Declared, Memory

P = ParamSpec("P")
T = TypeVar("T")


class Work(Generic[P, T]):
    """A function that declares its accesses. Calling it runs the function; ``Stream.submit`` takes it as any other."""

    def __init__(
        self,
        fn: Callable[P, T],
        name: str | None,
        reads: Declared | None,
        writes: Declared | None,
        duration: float | None,
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
        self._places: dict[str, int] = {}  # of declared parameters: their position; -1: none
        self.declared = reads is not None or writes is not None
        if self.declared:
            accesses_are_declared()
        self.reads = self._checked("reads", reads)
        self.writes = self._checked("writes", writes)
        self.__wrapped__ = fn
        self.__name__ = getattr(fn, "__name__", self.name)
        self.__qualname__ = getattr(fn, "__qualname__", self.name)
        self.__module__ = getattr(fn, "__module__", __name__)
        self.__doc__ = getattr(fn, "__doc__", None)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Work[..., T]:
        """As a method it binds like a function: names still refer to the function's parameters."""
        if instance is None:
            return self
        reads, writes = (self.reads, self.writes) if self.declared else (None, None)
        return Work(self.fn.__get__(instance, owner), self.name, reads, writes, self.duration)

    def __repr__(self) -> str:
        accesses = f" reads={self.reads!r} writes={self.writes!r}" if self.declared else ", accesses not declared"
        return f"<Work {self.name!r}{accesses}>"

    def _checked(self, what: str, declared: Declared | None) -> tuple[str | Memory, ...]:
        """Names of parameters, checked now, or objects, resolved at submission."""
        if declared is None:
            return ()
        items = tuple(declared) if isinstance(declared, list | tuple) else (declared,)
        for item in items:
            if isinstance(item, str):
                if self._signature is None:
                    import inspect  # takes longer to import than eventide

                    self._signature = inspect.signature(self.fn)
                if item not in self._signature.parameters:
                    parameters = ", ".join(self._signature.parameters) or "none"
                    raise UsageValueError(f"{what}={item!r} is not a parameter of {self.name}; it has {parameters}")
                parameter = self._signature.parameters[item]
                by_position = parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
                self._places[item] = list(self._signature.parameters).index(item) if by_position else -1
        return items

    def _accesses(self, *args: Any, **kwargs: Any) -> tuple[Accesses, Accesses] | None:
        """What a call with these arguments reads and writes. None if nothing is declared or it cannot be determined."""
        if not self.declared:
            return None
        try:
            values = self._given(args, kwargs)
            if values is None and self._signature is not None:
                call = self._signature.bind(*args, **kwargs)
                call.apply_defaults()
                values = call.arguments
            values = values or {}
            return _resolve(self.reads, values), _resolve(self.writes, values)
        except Exception as error:  # noqa: BLE001 - protocols of arrays raise anything
            report_once("work_submission", self, error)
            return None

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The declared arguments, if all of them are given: binding a whole signature takes ten times as long."""
        values = {}
        for name, place in self._places.items():
            if 0 <= place < len(args):
                values[name] = args[place]
            elif place >= 0 and name in kwargs:
                values[name] = kwargs[name]
            else:
                return None
        return values


def _resolve(declared: tuple[str | Memory, ...], values: dict[str, Any]) -> Accesses:
    out: list[Any] = []
    for item in declared:
        out.extend(accesses_of(values[item] if isinstance(item, str) else item))
    return tuple(out)


@overload
def work(
    fn: Callable[P, T],
    *,
    name: str | None = None,
    reads: Declared | None = None,
    writes: Declared | None = None,
    duration: float | None = None,
) -> Work[P, T]: ...
@overload
def work(
    fn: None = None,
    *,
    name: str | None = None,
    reads: Declared | None = None,
    writes: Declared | None = None,
    duration: float | None = None,
) -> Callable[[Callable[P, T]], Work[P, T]]: ...
def work(
    fn: Callable[P, T] | None = None,
    *,
    name: str | None = None,
    reads: Declared | None = None,
    writes: Declared | None = None,
    duration: float | None = None,
) -> Work[P, T] | Callable[[Callable[P, T]], Work[P, T]]:
    """Declare what a function reads and writes: by parameter name where it is defined, or by object for one call.

    If one of the two is given, the declaration is complete: ``reads=(), writes=()`` accesses nothing. Without both, the
    accesses are unknown. `duration` is for devices with virtual time, in seconds.
    """
    if fn is None:
        return lambda function: Work(function, name, reads, writes, duration)
    return Work(fn, name, reads, writes, duration)
