"""Protobuf's wire format for a few messages."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """Seven bits a byte, the last without the top bit; negative numbers as 64 bits."""
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes | None) -> bytes:
    """One field: a whole number, or text or a message with its length; empty for None."""
    if value is None:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data
