"""Maps the categories of other tools to ours, for whole columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from eventide.trace._schema import CATEGORIES
from eventide.trace.linking._columns import Ids, Mask, Strings
from eventide.trace.linking._event_names import DEVICE, HOST, RUNTIMES, Rule, on_device, operator, runtime, unnamed

WORDS = list(CATEGORIES)
NUMBER = {name: number for number, name in enumerate(WORDS)}

_OURS: dict[str, Rule] = {name: name for name in CATEGORIES if name not in {"kernel", "runtime", "other"}}
RULES: dict[str, Rule] = {**_OURS, **DEVICE, **HOST}
# For every other category, the core adds the category of the source to the arguments.
KNOWN = sorted(
    {
        *RULES,
        *(name.capitalize() for name in ("kernel", "memcpy", "memset", "runtime", "operator")),
        *(
            f"{kind}{part}"
            for kind in ("", "cuda_", "hip_", "xpu_", "mtia_", "hpu_", "privateuse1_", "glow_")
            for part in ("runtime", "driver")
        ),
    }
)


def rule_of(category: str) -> Rule | None:
    """The function that maps events of this category of the source; None for an unknown category."""
    rule = RULES.get(category) or RULES.get(category.lower())
    return rule or (runtime if RUNTIMES.match(category.lower()) else None)


def categorize(
    sources: Ids, names: Ids, strings: Strings, on_stream: Mask, beside_stream: Mask
) -> npt.NDArray[np.int8]:
    """The category of each row, as a number of WORDS. Rows of unknown categories are mapped by their track.

    Beside the streams of a device some tools draw lines that show the same time again, by step, module or scope.
    """
    rules: list[Rule] = ["other", on_device, unnamed, "annotation", operator]
    table = np.zeros(len(strings), np.int8)
    for number, source in strings.used(sources).items():
        rule = rule_of(source)
        if rule is not None and source:
            if rule not in rules:
                rules.append(rule)
            table[number] = rules.index(rule)
    chosen = table[sources]
    chosen[((chosen == 0) | (chosen == 4)) & on_stream] = 1
    chosen[(sources == 0) & ~on_stream] = 2
    chosen[((chosen == 0) | (chosen == 2) | (chosen == 4)) & beside_stream] = 3
    found = np.empty(len(sources), np.int8)
    for number, rule in enumerate(rules):
        rows = np.flatnonzero(chosen == number)
        found[rows] = NUMBER[rule] if isinstance(rule, str) else _by_name(rule, names[rows], strings)
    return found


def _by_name(rule: Callable[[str], str], names: Ids, strings: Strings) -> npt.NDArray[np.int8]:
    table = np.zeros(len(strings), np.int8)
    for number, name in strings.used(names).items():
        table[number] = NUMBER[rule(name)]
    return table[names]
