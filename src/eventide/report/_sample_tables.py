"""The sampled Python stacks as tables: threads, functions, lines and imports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from eventide._util import format as f
from eventide.analysis import RUNPY, SampleRow, Samples
from eventide.report._tables import Fitted, table

_TIMES = ("self ran", "self waited", "total ran", "total waited")


def sample_tables(result: Samples, most: int) -> list[Fitted]:
    """Those that have rows; of threads only where there are several."""
    found = [
        _threads(result, most),
        _code("Python function", result, result.functions, most),
        _code("Python line", result, [row for row in result.lines if row.self_time], most),
        _imports(result, most),
    ]
    return [each for each in found if each.rows]


def _threads(result: Samples, most: int) -> Fitted:
    rows = [
        [row.thread, f.time(row.running), f.time(row.waiting), f.time(row.imports)]
        for row in (result.threads if len(result.threads) > 1 else ())[:most]
    ]
    if rest := result.threads[most:]:
        sums = [sum(values) for values in zip(*((row.running, row.waiting, row.imports) for row in rest), strict=True)]
        rows.append([f.count(len(rest), "more thread"), *map(f.time, sums)])
    return table("Sampled thread", ("ran", "waited", "of both in imports"), rows)


def _code(title: str, result: Samples, rows: Sequence[SampleRow], most: int) -> Fitted:
    cells = [
        [
            f.name(row.function),
            place(row),
            *map(f.time, (row.self_running, row.self_waiting, row.total_running, row.total_waiting)),
            f.percent(row.self_time, result.running + result.waiting),
        ]
        for row in [row for row in rows if row.file != RUNPY][:most]
    ]
    return table(title, ("at", *_TIMES, "self of all"), cells, 2)


def place(row: SampleRow) -> str:
    """timeit.py:180; the page has the whole path in its flame graph."""
    name = PurePosixPath(row.file).name
    return f"{name}:{row.line}" if row.line else name


def _imports(result: Samples, most: int) -> Fitted:
    whole = result.running + result.waiting
    rows = [[f.name(row.module), f.time(row.time), f.percent(row.time, whole)] for row in result.imports[:most]]
    if rest := result.imports[most:]:
        time = sum(row.time for row in rest)
        rows.append([f.count(len(rest), "more module"), f.time(time), f.percent(time, whole)])
    return table("Import", ("time", "of all"), rows)
