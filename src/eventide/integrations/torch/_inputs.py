"""The inputs of an operator, as torch.profiler writes them: its keys, its types, defaults too. Imports torch.

Tools for torch's files read these keys: `Input Dims`, `Input type`, `Input Strides`, `Concrete Inputs`.
"""

from __future__ import annotations

from typing import Any

import torch

# Names and numbers of the types in C++, as in torch's files; other types have the name that Python shows.
_TYPES = {
    torch.float32: ("float", 6),
    torch.float64: ("double", 7),
    torch.float16: ("c10::Half", 5),
    torch.bfloat16: ("c10::BFloat16", 15),
    torch.int64: ("long int", 4),
    torch.int32: ("int", 3),
    torch.int16: ("short int", 2),
    torch.int8: ("signed char", 1),
    torch.uint8: ("unsigned char", 0),
    torch.bool: ("bool", 11),
    torch.complex64: ("c10::complex<float>", 9),
    torch.complex128: ("c10::complex<double>", 10),
}
_SCALARS = (int, float, complex, torch.SymInt, torch.SymFloat, torch.dtype, torch.layout, torch.memory_format)
_LONGEST = 30  # elements of a list whose values are written, as in torch


def describe_inputs(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Sizes, types, strides and values of every argument of the operator's schema, in its order."""
    rest = func._schema.arguments[len(args) :]  # noqa: SLF001  (torch has no public name for it)
    given = [*args, *(kwargs.get(one.name, one.default_value if one.has_default_value() else None) for one in rest)]
    return {
        "Input Dims": [_of_tensors(value, _sizes) for value in given],
        "Input type": [_type(value) for value in given],
        "Input Strides": [_of_tensors(value, _strides) for value in given],
        "Concrete Inputs": [_concrete(value) for value in given],
    }


def _of_tensors(value: Any, read: Any) -> Any:
    """What `read` gives for a tensor, a list of it for a list of tensors, [] for anything else."""
    if isinstance(value, torch.Tensor):
        return read(value)
    return [read(one) for one in value] if _is_tensor_list(value) else []


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, torch.Tensor) for one in value)


def _sizes(tensor: Any) -> list[Any]:
    """A size that is not a number, of a ragged dimension of a NestedTensor, is -1."""
    if _has_no_sizes(tensor):
        return []
    return [_number(size) for size in tensor.shape]


def _strides(tensor: Any) -> list[Any]:
    if _has_no_sizes(tensor) or tensor.layout not in (torch.strided, torch.jagged):
        return []
    return [_number(stride) for stride in tensor.stride()]


def _has_no_sizes(tensor: Any) -> bool:
    """The first kind of NestedTensor has a size for each of its parts, and raises where one is requested."""
    return tensor.is_nested and tensor.layout is torch.strided


def _number(size: Any) -> int:
    return size if isinstance(size, int) else -1  # to convert a symbolic size would be a guard of torch.compile


def _type(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "" if _has_no_sizes(value) else _name(value.dtype)
    if isinstance(value, _SCALARS):
        return "Scalar"
    if isinstance(value, list | tuple):
        return "TensorList" if _is_tensor_list(value) else "ScalarList"
    return ""


def _name(kind: Any) -> str:
    return _TYPES[kind][0] if kind in _TYPES else str(kind).removeprefix("torch.")


def _concrete(value: Any) -> str:
    """The value of what is neither a tensor nor None, if it is short."""
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, torch.dtype):
        return str(_TYPES[value][1]) if value in _TYPES else ""
    if isinstance(value, float):
        return f"{int(value)}." if value.is_integer() else f"{value:.17g}"
    if isinstance(value, list | tuple) and len(value) <= _LONGEST and all(type(one) is int for one in value):
        return str(list(value))
    return ""
