"""What ``reads`` and ``writes`` accept, for type checkers; nothing imports this at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, TypeAlias

from typing_extensions import Buffer


class SupportsArrayInterface(Protocol):
    """An array of the host, as of NumPy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class SupportsCudaArrayInterface(Protocol):
    """An array of a CUDA device."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class SupportsDlpack(Protocol):
    """Anything that exports DLPack."""

    def __dlpack__(self) -> Any: ...


class SupportsDataPtr(Protocol):
    """A tensor of torch."""

    def data_ptr(self) -> int: ...
    def element_size(self) -> int: ...


_Array: TypeAlias = Buffer | SupportsArrayInterface | SupportsCudaArrayInterface | SupportsDlpack | SupportsDataPtr
_Item: TypeAlias = "Memory | int | float | complex | None"  # numbers in containers are ignored
Memory: TypeAlias = _Array | Sequence[_Item] | Mapping[Any, _Item] | AbstractSet[_Item]
"""A Buffer, an array, a tensor, or a list, tuple, set or dict of them."""
Declared: TypeAlias = str | Memory | Sequence[str | Memory]
"""Memory, or names of parameters."""
