"""From ctypes objects and capsules to the two addresses that native work needs.

``Stream.submit_native`` takes the common calls itself and the others from here.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from eventide.errors import UsageTypeError, UsageValueError
from eventide.runtime._work import Work

if TYPE_CHECKING:
    from eventide.runtime._future import Future
    from eventide.runtime._stream import Stream
    from eventide.runtime.access._types import Memory

_CAPSULE = b"eventide.work"
# ctypes names these types only in private; they are the types of what its public functions make.
FunctionPointer: Any = type(ctypes.pythonapi.PyCapsule_New).__mro__[1]
_ByReference: Any = type(ctypes.byref(ctypes.c_int()))
_Pointer: Any = ctypes.POINTER(ctypes.c_int).__mro__[1]
_Simple: Any = ctypes.c_int.__mro__[1]


def submit_native(
    stream: Stream,
    function: object,
    argument: object = None,
    *,
    name: str | None = None,
    keep: object = None,
    reads: Memory | None = None,
    writes: Memory | None = None,
) -> Future[None]:
    """The whole of ``Stream.submit_native``."""
    address, value, default_name = resolve_call(function, argument)
    declared = None
    if reads is not None or writes is not None:
        declared = Work(resolve_call, name or default_name, _objects(reads), _objects(writes), None)
    kept = (function, argument, keep, declared)
    return stream._submit_call(address, value, kept, name or default_name, declared)  # noqa: SLF001 - its other half


def _objects(declared: Memory | None) -> tuple[Memory, ...]:
    """Memory of a native call is named by object: it has no parameters."""
    if isinstance(declared, str):
        raise UsageTypeError(f"reads and writes of a native call are objects; got the name {declared!r}")
    return () if declared is None else (declared,)


def resolve_call(function: Any, argument: Any) -> tuple[int, int, str]:
    """The address of the function, the address it is called with, and a name for people."""
    if isinstance(function, FunctionPointer):
        address = ctypes.c_void_p.from_buffer(function).value
        name = str(getattr(function, "__name__", "native"))
        default = 0
    elif type(function).__name__ == "PyCapsule":
        address, default = _open_capsule(function)
        name = "native"
    else:
        raise UsageTypeError(
            "native work is a ctypes function pointer or a PyCapsule named 'eventide.work', "
            f"not {type(function).__name__}; Python functions go to submit()"
        )
    if not address:
        raise UsageValueError("the function pointer of native work is null")
    return address, default if argument is None else _address_of(argument), name


def _address_of(argument: Any) -> int:
    if isinstance(argument, int):
        return argument
    if isinstance(argument, ctypes.c_void_p):
        return argument.value or 0
    if isinstance(argument, _Pointer | FunctionPointer | _ByReference):
        return ctypes.cast(argument, ctypes.c_void_p).value or 0
    if isinstance(argument, _Simple | ctypes.Structure | ctypes.Union | ctypes.Array):
        return ctypes.addressof(argument)
    raise UsageTypeError(
        f"the argument of native work is an address, a ctypes object or None, not {type(argument).__name__}"
    )


def _open_capsule(capsule: object) -> tuple[int, int]:
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes, is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
    if not is_valid(capsule, _CAPSULE):
        raise UsageValueError("a capsule with native work must be named 'eventide.work'")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    context = ctypes.pythonapi.PyCapsule_GetContext
    context.argtypes, context.restype = [ctypes.py_object], ctypes.c_void_p
    return pointer(capsule, _CAPSULE), context(capsule) or 0
