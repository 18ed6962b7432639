"""The base of all results: how they print, and how they convert."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import pyarrow as pa

from eventide._util import format as f
from eventide._util import html_text
from eventide.errors import UsageError

_ROWS = 10  # that a result prints
_TEXT_WIDTH = 48
Cell = Callable[[Any], str]


def text(value: Any) -> str:
    """A name; null is a dash."""
    return "-" if value is None else f.name(str(value), _TEXT_WIDTH)


def number(value: Any) -> str:
    return "-" if value is None else f"{value:,}"


def decimal(value: Any) -> str:
    return "-" if value is None else f"{value:,.1f}"


def time(value: Any) -> str:
    return "-" if value is None else f.time(value)


def size(value: Any) -> str:
    return "-" if value is None else f.size(value)


def bandwidth(value: Any) -> str:
    """Bytes a second, in the decimal units of data sheets."""
    return "-" if value is None else f"{f.quantity(value)}B/s"


def rate(value: Any) -> str:
    """Operations a second."""
    return "-" if value is None else f"{f.quantity(value)}FLOP/s"


def yes(value: Any) -> str:
    return "yes" if value else ""


def percent(value: Any) -> str:
    return "-" if value is None else f"{value:.1f} %"


class Result:
    """A frozen result of an analysis. ``print(result)`` shows its first rows; all of them convert.

    A subclass has its rows (``_rows``: a table, or objects of the dataclass ``_row``, or dicts with its fields and
    ``_more``), which columns are printed and how (``_columns``), and the line above them (``_heading``). Times are
    nanoseconds in the fields and in the converted tables.
    """

    _columns: ClassVar[Mapping[str, Cell]]
    _row: ClassVar[type]
    _more: ClassVar[tuple[str, ...]] = ()
    _heads: ClassVar[Mapping[str, str]] = {}  # of columns that a narrow terminal shows under a shorter name

    def _rows(self) -> pa.Table | Sequence[Any]:
        raise NotImplementedError

    def _printed(self) -> Sequence[Any]:
        """What is printed, where that is not the first rows."""
        rows = self._rows()
        assert not isinstance(rows, pa.Table)  # noqa: S101 - a result with a table says what it prints
        return rows

    def _heading(self) -> str:
        raise NotImplementedError

    @property
    def heading(self) -> str:
        """The result in one line; where the trace does not hold it, the reason."""
        return self._heading()

    def cells(self, most: int) -> tuple[list[str], list[list[str]], int]:
        """What is printed of the first `most` rows: heads, cells, and how many of the first columns are text."""
        shown = [_cells(row) for row in self._printed()[:most]]
        rows = [[show(row.get(name)) for name, show in self._columns.items()] for row in shown]
        kinds = [show is text for show in self._columns.values()]
        heads = [self._heads.get(name, name.replace("_", " ")) for name in self._columns]
        return heads, rows, kinds.index(False) if False in kinds else len(kinds)

    def to_arrow(self) -> pa.Table:
        """The rows of the result as a pyarrow.Table."""
        rows = self._rows()
        if isinstance(rows, pa.Table):
            return rows
        names = (*self._more, *(each.name for each in dataclasses.fields(self._row) if each.repr))
        cells = [_cells(row) for row in rows]
        return pa.table({name: [row[name] for row in cells] for name in names})

    def to_pandas(self) -> Any:
        """The rows of the result as a pandas.DataFrame; UsageError if pandas is not installed."""
        try:
            import_module("pandas")  # the error of pyarrow does not name the remedy
        except ImportError as error:
            raise UsageError("to_pandas() needs pandas: pip install pandas; to_arrow() works without it") from error
        return self.to_arrow().to_pandas()

    def __str__(self) -> str:
        rows = self._printed()
        shown = [_cells(row) for row in rows[:_ROWS]]
        lines = [f"{type(self).__name__}: {self._heading()}"]
        if shown:
            lines += _aligned(self._columns, shown)
        if len(rows) > _ROWS:
            lines.append(f"... and {f.count(len(rows) - _ROWS, 'more row')}; to_arrow() has all")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: the rows that print() has, as a table."""
        heads, rows, texts = self.cells(_ROWS)
        rest = len(self._printed()) - len(rows)
        more = f"... and {f.count(rest, 'more row')}; to_arrow() has all" if rest > 0 else ""
        return html_text.table(f"{type(self).__name__}: {self._heading()}", heads, rows, texts, more)


def _cells(row: Any) -> dict[str, Any]:
    """A row as a dict: of a dataclass its fields, except arrays and nested results."""
    if isinstance(row, Mapping):
        return dict(row)
    return {each.name: getattr(row, each.name) for each in dataclasses.fields(row) if each.repr}


def _aligned(columns: Mapping[str, Cell], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A header and the rows: text on the left, numbers on the right."""
    lines = [list(columns), *([show(row.get(name)) for name, show in columns.items()] for row in rows)]
    left = [show is text for show in columns.values()]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return [
        "  ".join(
            cell.ljust(width) if side else cell.rjust(width)
            for cell, width, side in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
