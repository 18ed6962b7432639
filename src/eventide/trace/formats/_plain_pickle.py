"""Reads a pickle of plain values without executing it: dicts, lists, tuples, texts, bytes, numbers, None, True, False.

`pickle.load` runs what a file names. Here no class is looked up and nothing is called: every opcode that could do so is
an error. What is built is bounded by the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

_MARK = object()
_LONGEST = 1024  # bytes of an integer
_RUNS = {
    b"c": "GLOBAL", b"\x93": "STACK_GLOBAL", b"R": "REDUCE", b"b": "BUILD", b"i": "INST", b"o": "OBJ",
    b"\x81": "NEWOBJ", b"\x92": "NEWOBJ_EX", b"\x82": "EXT1", b"\x83": "EXT2", b"\x84": "EXT4", b"P": "PERSID",
    b"Q": "BINPERSID",
}  # fmt: skip
_CONSTANTS = {b"N": None, b"\x88": True, b"\x89": False}
# Opcode: size of the little-endian length before its payload, and how the payload becomes a value.
_SIZED: dict[bytes, tuple[int, Callable[[bytes], Any]]] = {
    b"X": (4, lambda data: data.decode("utf-8", "surrogatepass")),
    b"\x8c": (1, lambda data: data.decode("utf-8", "surrogatepass")),
    b"\x8d": (8, lambda data: data.decode("utf-8", "surrogatepass")),
    b"B": (4, bytes),
    b"C": (1, bytes),
    b"\x8e": (8, bytes),
    b"T": (4, lambda data: data.decode("latin-1")),
    b"U": (1, lambda data: data.decode("latin-1")),
    b"\x8a": (1, lambda data: int.from_bytes(data, "little", signed=True)),
    b"\x8b": (4, lambda data: int.from_bytes(data, "little", signed=True)),
}
_FIXED: dict[bytes, tuple[int, Callable[[bytes], Any]]] = {
    b"J": (4, lambda data: int.from_bytes(data, "little", signed=True)),
    b"K": (1, lambda data: data[0]),
    b"M": (2, lambda data: int.from_bytes(data, "little")),
    b"G": (8, lambda data: struct.unpack(">d", data)[0]),
}
_TUPLES = {b")": 0, b"\x85": 1, b"\x86": 2, b"\x87": 3}
_EMPTY: dict[bytes, Callable[[], Any]] = {b"]": list, b"}": dict}


def plain_values(data: bytes) -> Any:
    """The value of a pickle (protocol 2 or later); ValueError with the opcode and its place if it is not plain."""
    return _Reader(data).read()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        """Run to STOP."""
        while True:
            place = self.at = self.frequent()
            code = self.take(1)
            if code == b".":
                return self.stack.pop()
            try:
                self.step(code)
            except (IndexError, struct.error) as error:
                raise ValueError(f"opcode {code!r} at byte {place} has no value to work on") from error
            except TypeError as error:
                raise ValueError(f"opcode {code!r} at byte {place} does not fit its values: {error}") from error

    def frequent(self) -> int:
        """Run the opcodes that make up most of a file, and give the place of the first other one.

        They are those of `step`; what is unusual about one of them, such as the end of the file, is left to it.
        """
        data, at, end, memo = self.data, self.at, len(self.data) - 8, self.memo
        push = self.stack.append
        while at < end:
            code = data[at]
            if code == 0x68 and data[at + 1] in memo:  # BINGET
                push(memo[data[at + 1]])
                at += 2
            elif code == 0x6A and (number := int.from_bytes(data[at + 1 : at + 5], "little")) in memo:  # LONG_BINGET
                push(memo[number])
                at += 5
            elif code == 0x4B:  # BININT1
                push(data[at + 1])
                at += 2
            elif code == 0x4D:  # BININT2
                push(data[at + 1] | data[at + 2] << 8)
                at += 3
            elif code == 0x4A:  # BININT
                push(int.from_bytes(data[at + 1 : at + 5], "little", signed=True))
                at += 5
            elif code == 0x28:  # MARK
                push(_MARK)
                at += 1
            elif code == 0x7D:  # EMPTY_DICT
                push({})
                at += 1
            elif code == 0x94 and self.stack:  # MEMOIZE
                memo[len(memo)] = self.stack[-1]
                at += 1
            else:
                break
        return at

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) != count:
            raise ValueError(f"the pickle ends at byte {len(self.data)}, inside a value that begins at {self.at}")
        self.at += count
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def step(self, code: bytes) -> None:
        """One opcode."""
        if code in _FIXED:
            size, make = _FIXED[code]
            self.stack.append(make(self.take(size)))
        elif code in _SIZED:
            size, make = _SIZED[code]
            length = self.number(size)
            if code in b"\x8a\x8b" and length > _LONGEST:
                raise ValueError(f"an integer of {length} bytes before byte {self.at}; at most {_LONGEST} are read")
            self.stack.append(make(self.take(length)))
        elif code in _CONSTANTS:
            self.stack.append(_CONSTANTS[code])
        elif code in _EMPTY:
            self.stack.append(_EMPTY[code]())
        elif code in _TUPLES:
            count = _TUPLES[code]
            items = tuple(self.stack[len(self.stack) - count :]) if len(self.stack) >= count else self.stack[-count]
            del self.stack[len(self.stack) - count :]
            self.stack.append(items)
        elif not self.remembered(code):
            self.gathered(code)

    def remembered(self, code: bytes) -> bool:
        """The memo, and what has no effect."""
        if code == b"\x94":
            self.memo[len(self.memo)] = self.stack[-1]
        elif code in b"qr":
            self.memo[self.number(1 if code == b"q" else 4)] = self.stack[-1]
        elif code in b"hj":
            place, number = self.at, self.number(1 if code == b"h" else 4)
            if number not in self.memo:
                raise ValueError(f"byte {place} refers to value {number}, which was not stored")
            self.stack.append(self.memo[number])
        elif code == b"\x80":
            self.take(1)
        elif code == b"\x95":
            self.take(8)
        else:
            return False
        return True

    def gathered(self, code: bytes) -> None:
        """What takes the values since the last mark, and the rest."""
        if code == b"(":
            self.stack.append(_MARK)
        elif code == b"a":
            value = self.stack.pop()
            list.append(self.stack[-1], value)
        elif code == b"e":
            values = self.since_mark()
            list.extend(self.stack[-1], values)
        elif code == b"s":
            value, key = self.stack.pop(), self.stack.pop()
            dict.__setitem__(self.stack[-1], key, value)
        elif code == b"u":
            values = self.since_mark()
            dict.update(self.stack[-1], zip(values[::2], values[1::2], strict=True))
        elif code == b"t":
            self.stack.append(tuple(self.since_mark()))
        elif code == b"0":
            self.stack.pop()
        else:
            self.refuse(code)

    def since_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:  # a negative place ends as IndexError
            place -= 1
            if place < 0:
                raise IndexError
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def refuse(self, code: bytes) -> None:
        place = self.at - 1
        if code in _RUNS:
            what = f"{_RUNS[code]} at byte {place}"
            raise ValueError(f"the pickle would run code ({what}), which is never done; only plain values are read")
        raise ValueError(
            f"opcode {code!r} at byte {place} does not belong to a pickle of plain values (protocol 2 or later)"
        )
