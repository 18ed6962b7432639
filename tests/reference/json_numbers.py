"""Times and ids of a Chrome trace, by `decimal`: exact, slow, plain."""

from __future__ import annotations

import json
from decimal import ROUND_DOWN, ROUND_FLOOR, Context, Decimal
from typing import Any

_EXACT = Context(prec=400, Emin=-(10**9), Emax=10**9)
MAX_TIME = 2**61  # ns


def picoseconds(value: Any) -> int | None:
    """Microseconds as JSON has them (int, Decimal or text) in whole picoseconds; None for what is no time."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = _EXACT.create_decimal(value.strip(" ") if isinstance(value, str) else value)
    except ArithmeticError:
        return None
    if not number.is_finite() or number.adjusted() > 30:
        return None
    whole = int(_EXACT.multiply(number, Decimal(10**6)).to_integral_value(ROUND_DOWN, _EXACT))
    return whole if abs(whole) <= MAX_TIME * 1000 else None


def rounded(ps: int) -> int:
    """To nanoseconds; halves go up."""
    return (ps + 500) // 1000


def integer(value: Any) -> int | None:
    """An id of 64 bits, or None."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if isinstance(value, str):
        text = value.strip(" ")
        try:
            value = int(text, 16) if text[:2].lower() == "0x" else _EXACT.create_decimal(text)
        except (ArithmeticError, ValueError):
            return None
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > 30 or value != value.to_integral_value(ROUND_FLOOR, _EXACT):
            return None
        value = int(value)
    if not -(2**63) <= value < 2**64:
        return None
    return value - 2**64 if value >= 2**63 else value


def identity(value: Any) -> Any:
    """The identity of a process, a thread or a flow: a number, a text, or None."""
    number = integer(value)
    if number is not None or value is None:
        return number
    return value if isinstance(value, str) else json.dumps(value, default=str)
