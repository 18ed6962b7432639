"""Trace: what was recorded, and only that, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide.errors import UsageTypeError, UsageValueError
from eventide.store._schema import SCHEMAS

if TYPE_CHECKING:
    import duckdb

Columns = Mapping[str, Any]


class Trace:
    """Spans, instants, counters, edges and operations on tracks; a trace does not change once made.

    Each table is a ``pyarrow.Table`` with the columns of ``eventide.store.SCHEMAS``; `metadata` is a plain dict:
    ``source``, ``clock``, ``account`` (recorded, dropped and truncated counts, overhead), ``warnings`` and what else
    the source knows.
    """

    __slots__ = ("_tables", "metadata")

    def __init__(self, tables: Mapping[str, pa.Table | Columns], metadata: Mapping[str, Any] | None = None) -> None:
        unknown = sorted(set(tables) - set(SCHEMAS))
        if unknown:
            raise UsageValueError(f"a trace has no table {unknown[0]!r}; it has {', '.join(SCHEMAS)}")
        self._tables = {name: _table(name, tables.get(name)) for name in SCHEMAS}
        self.metadata: dict[str, Any] = {"source": "", "clock": {}, "account": {}, "warnings": [], **(metadata or {})}

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
        """Ask in SQL (DuckDB); the tables go by their names, the numbers of rows are the ids."""
        import duckdb

        connection = duckdb.connect()
        for name, table in self._tables.items():
            connection.register(name, table)
        return connection.sql(query)

    def __repr__(self) -> str:
        counts = ", ".join(f"{table.num_rows} {name}" for name, table in self._tables.items() if table.num_rows)
        return f"<Trace of {counts or 'nothing'}>"


def _table(name: str, given: pa.Table | Columns | None) -> pa.Table:
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
    array = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])
    if array.type.equals(kind):
        return array
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(array.type):
        array = array.cast(pa.string()).dictionary_encode()
    return array.cast(kind)
