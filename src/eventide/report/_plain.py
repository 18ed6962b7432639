"""Results as what JSON can hold: dataclasses and tables become objects, arrays lists; times stay nanoseconds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa


def plain(value: Any) -> Any:
    """A result, or anything in one, without its private fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [each.name for each in dataclasses.fields(value) if not each.name.startswith("_")]
        derived = [name for name, member in vars(type(value)).items() if isinstance(member, property)]
        return {name: plain(getattr(value, name)) for name in (*fields, *derived)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, pa.Table):
        return value.to_pylist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
