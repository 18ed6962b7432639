"""Numbers and names as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PARAMETERS = re.compile(r"\(anonymous namespace\)::|\(anonymous class\)::")


def time(nanoseconds: float) -> str:
    """12.3 ms: three figures and a unit."""
    size = abs(nanoseconds)
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if size >= scale * 0.9995:
            return f"{_three(nanoseconds / scale)} {unit}"
    return f"{nanoseconds:.0f} ns"


def size(count: float) -> str:
    """1.5 GiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= scale:
            return f"{_three(count / scale)} {unit}"
    return f"{count:.0f} B"


def quantity(number: float) -> str:
    """12.3 G: of operations."""
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= scale:
            return f"{_three(number / scale)} {unit}"
    return f"{number:.0f}"


def _three(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def percent(part: float, whole: float) -> str:
    """16 %; what is there but rounds to nothing is "< 0.1 %", and what is not all is never "100 %"."""
    if whole <= 0:
        return "-"
    share = 100 * part / whole
    if part in {0, whole}:
        return f"{share:.0f} %"
    if abs(share) < 0.1:
        return "< 0.1 %"
    if 99.9 < share < 100:
        return "> 99.9 %"
    return f"{share:.1f} %" if abs(share) < 9.95 or share > 99 else f"{share:.0f} %"


def count(number: int, noun: str) -> str:
    """1 gap, 2,400 gaps."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(rows: Mapping[str, int]) -> str:
    """1 track, 2 spans: of {"tracks": 1, "spans": 2, "edges": 0}."""
    return ", ".join(count(number, table.removesuffix("s")) for table, number in rows.items() if number) or "nothing"


def name(text: str, width: int = 60) -> str:
    """A kernel's name without what repeats: the return type, the parameters, anonymous namespaces; cut to the width."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in " ".join(text.split()))
    text = _PARAMETERS.sub("", text).removeprefix("void ")
    text = _without_parameters(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def _without_parameters(text: str) -> str:
    """Drop a trailing (...) of a C++ signature; names such as "Memcpy HtoD (Pinned -> Device)" keep theirs."""
    if not text.endswith(")"):
        return text
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[index], 0)
        if depth == 0:
            return text[:index] if index and not text[index - 1].isspace() and text[:index] else text
    return text
