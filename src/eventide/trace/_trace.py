"""Trace: what was recorded, and only that, as columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.errors import UsageTypeError, UsageValueError
from eventide.trace._schema import SCHEMAS

if TYPE_CHECKING:
    import duckdb

    from eventide.trace._check import Checked

Columns = Mapping[str, Any]
Contents = tuple[dict[str, pa.Table], dict[str, Any]]  # tables and metadata


class Trace:
    """Spans, instants, counters, edges and operations on tracks; a trace does not change once made.

    Each table is a ``pyarrow.Table`` with the columns of ``eventide.trace.SCHEMAS``; `metadata` is a plain dict:
    ``source``, ``clock``, ``account`` (recorded, dropped and truncated counts, overhead), ``warnings`` and what else
    the source knows.
    """

    __slots__ = ("_contents", "_make")

    def __init__(self, tables: Mapping[str, pa.Table | Columns], metadata: Mapping[str, Any] | None = None) -> None:
        unknown = sorted(set(tables) - set(SCHEMAS))
        if unknown:
            raise UsageValueError(f"a trace has no table {unknown[0]!r}; it has {', '.join(SCHEMAS)}")
        known = {"source": "", "clock": {}, "account": {}, "warnings": [], **(metadata or {})}
        self._contents: list[Contents] = [({name: table_of(name, tables.get(name)) for name in SCHEMAS}, known)]
        self._make: Callable[[], Trace] | None = None

    @classmethod
    def later(cls, make: Callable[[], Trace]) -> Trace:
        """The trace that `make` gives, made when it is first looked at; if that raises, the next look tries again."""
        trace = cls.__new__(cls)
        trace._contents, trace._make = [], make  # noqa: SLF001  (its own class)
        return trace

    def _look(self) -> Contents:
        """Two threads may both make it, and both get the one that was ready first; a lock could be lost in a fork."""
        make = self._make
        if not self._contents and make is not None:
            self._contents.append(make()._look())  # noqa: SLF001  (its own class)
            self._make = None
            del self._contents[1:]
        return self._contents[0]

    _tables = property(lambda self: self._look()[0])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the source knows besides the tables."""
        return self._look()[1]

    def __reduce__(self) -> tuple[type[Trace], Contents]:
        return type(self), self._look()

    tracks = property(lambda self: self._tables["tracks"], doc="Where things happen; the row number is the id.")
    spans = property(lambda self: self._tables["spans"], doc="What took time.")
    instants = property(lambda self: self._tables["instants"], doc="What happened at one time.")
    counters = property(lambda self: self._tables["counters"], doc="Values over time.")
    edges = property(lambda self: self._tables["edges"], doc="What made what wait or begin.")
    operations = property(lambda self: self._tables["operations"], doc="What the hooks said, in order.")
    stacks = property(lambda self: self._tables["stacks"], doc="Python stacks; the row number is the id.")

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return dict(self._tables)

    def replace(self, metadata: Mapping[str, Any] | None = None, **tables: pa.Table | Columns) -> Trace:
        """The same trace with other tables or other metadata."""
        return Trace({**self._tables, **tables}, {**self.metadata, **(metadata or {})})

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Ask in SQL (DuckDB). The tables go by their names; each has its row numbers as the column `id`."""
        from eventide.trace._sql import ask

        return ask(self._tables, query)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a .pftrace (to view), .json or .json.gz (for other tools) or .parquet (to keep); return its path.

        It is written under another name and renamed, so that nobody ever sees half of it.
        """
        from eventide.trace._save import save

        return save(self, path)

    def check(self) -> Checked:
        """What the trace is made of; an error that names the rows where it does not hold together."""
        from eventide.trace._check import check

        return check(self)

    def __repr__(self) -> str:
        if not self._contents:
            return "<Trace, not derived yet>"
        counts = ", ".join(f"{table.num_rows} {name}" for name, table in self._tables.items() if table.num_rows)
        return f"<Trace of {counts or 'nothing'}>"


def table_of(name: str, given: pa.Table | Columns | None) -> pa.Table:
    """The table in its schema: columns that are missing are null, columns that nobody knows are an error."""
    schema = SCHEMAS[name]
    if given is None:
        return schema.empty_table()
    if isinstance(given, pa.Table):
        if given.schema.equals(schema):
            return given
        columns: Columns = {field: given.column(field) for field in given.column_names}
    elif isinstance(given, Mapping):
        columns = given
    else:
        raise UsageTypeError(f"{name} must be a pyarrow.Table or a dict of columns, not {type(given).__name__}")
    unknown = sorted(set(columns) - set(schema.names))
    if unknown:
        raise UsageValueError(f"{name} have no column {unknown[0]!r}; they have {', '.join(schema.names)}")
    rows = max((len(column) for column in columns.values()), default=0)
    arrays = [_column(columns.get(field.name), field.type, rows) for field in schema]
    return pa.table(arrays, schema=schema)


def _column(values: Sequence[Any] | None, kind: pa.DataType, rows: int) -> pa.ChunkedArray:
    if values is None:
        return pa.chunked_array([pa.nulls(rows, kind)])
    if isinstance(values, pa.ChunkedArray):
        array = values
    elif isinstance(values, pa.Array):
        array = pa.chunked_array([values])
    else:
        array = pa.chunked_array([_array(values, kind)])
    if array.type.equals(kind):
        return array
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(array.type):
        array = array.cast(pa.string()).dictionary_encode()
    return array.cast(kind)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """From Python's values or numpy's. Text that UTF-8 cannot hold (half of a surrogate pair) is spelled out."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        return pa.array(values, plain)
    except UnicodeEncodeError:
        spelled = [text if text is None else text.encode("utf-8", "backslashreplace").decode() for text in values]
        return pa.array(spelled, plain)
