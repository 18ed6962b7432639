"""Where the sampled Python stacks were: by function, innermost and anywhere in the stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.compute as pc

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.trace import Trace


@dataclass(frozen=True)
class SampleRow:
    """One function: how many samples found it innermost, and how many found it at all."""

    function: str
    file: str
    line: int  # where it was found innermost most often; 0: never innermost
    innermost: int
    within: int


@dataclass(frozen=True, repr=False)
class Samples(show.Result):
    """Functions by how often they were innermost, most often first. Threads that waited are counted, and left out."""

    count: int
    waiting: int
    stacks: int  # that differ
    rows: tuple[SampleRow, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "function": show.text,
        "file": show.text,
        "line": show.number,
        "innermost": show.number,
        "within": show.number,
    }
    _row: ClassVar[type] = SampleRow

    def _rows(self) -> tuple[SampleRow, ...]:
        return self.rows

    def _heading(self) -> str:
        ran, stacks = f.count(self.count, "sample"), f.count(self.stacks, "stack")
        return f"{ran} that ran, {self.waiting:,} that waited, {stacks}"


def samples(trace: Trace) -> Samples:
    """Add up the instants of category "sample" by the functions of their stacks."""
    instants = trace.instants
    chosen = instants.filter(pc.equal(pc.cast(instants.column("category"), "string"), "sample"))
    running = chosen.filter(pc.invert(pc.fill_null(pc.match_substring(chosen.column("args"), '"waiting"'), False)))
    stacks = Counter(stack for stack in running.column("stack").to_pylist() if stack is not None)
    innermost: Counter[tuple[str, str]] = Counter()
    within: Counter[tuple[str, str]] = Counter()
    lines: dict[tuple[str, str], Counter[int]] = {}
    for stack, count in stacks.items():
        frames = trace.stacks.column("frames")[stack].as_py() or []
        for frame in {(frame["function"], frame["file"]) for frame in frames}:
            within[frame] += count
        if frames:
            top = (frames[0]["function"], frames[0]["file"])
            innermost[top] += count
            lines.setdefault(top, Counter())[frames[0]["line"]] += count
    rows = [
        SampleRow(key[0], key[1], lines[key].most_common(1)[0][0] if key in lines else 0, innermost[key], count)
        for key, count in within.items()
    ]
    rows.sort(key=lambda row: (-row.innermost, -row.within, row.function))
    return Samples(stacks.total(), chosen.num_rows - running.num_rows, len(stacks), tuple(rows))
