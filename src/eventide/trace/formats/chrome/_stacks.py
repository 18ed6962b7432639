"""Call stacks that older Kineto wrote as one text: `file(line): function;file(line): function`, innermost first."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from eventide.trace.linking._columns import Ids, Strings

_FRAME = re.compile(r"(?P<file>.*)\((?P<line>\d{1,9})\): (?P<function>.*)", re.DOTALL)


def read_stacks(call_stacks: Ids, strings: Strings) -> tuple[list[list[dict[str, Any]]], Ids]:
    """The distinct stacks, and the number of the stack of each row; -1 for none."""
    if not len(call_stacks):
        return [], call_stacks
    texts = strings.used(call_stacks[call_stacks >= 0])
    numbers = np.full(len(strings) + 1, -1, np.int32)  # the last is for -1
    for number, text in enumerate(texts):
        numbers[text] = number
    return [_frames(text) for text in texts.values()], numbers[call_stacks]


def _frames(text: str) -> list[dict[str, Any]]:
    frames = []
    for part in filter(None, text.split(";")):
        found = _FRAME.fullmatch(part)
        if found:
            frames.append({"file": found["file"], "line": int(found["line"]), "function": found["function"]})
        else:
            frames.append({"file": None, "line": None, "function": part})
    return frames
