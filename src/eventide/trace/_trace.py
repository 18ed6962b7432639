"""Trace: a recording as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide._util import format as fmt
from eventide._util import html_text
from eventide.errors import UsageTypeError, UsageValueError
from eventide.trace._methods import TraceMethods
from eventide.trace._schema import SCHEMAS

if TYPE_CHECKING:
    import duckdb

    from eventide.trace._check import Checked

Columns = Mapping[str, Any]
Contents = tuple[dict[str, pa.Table], dict[str, Any]]  # tables and metadata


class Trace(TraceMethods):
    """Spans, instants, counters, edges and operations on tracks; a trace is immutable.

    Each table is a ``pyarrow.Table`` with the columns of ``eventide.trace.SCHEMAS``; `metadata` is a plain dict:
    ``source``, ``clock``, ``account`` (recorded, dropped and truncated counts, overhead), ``warnings`` and
    further keys of the source.
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
        """The trace that `make` returns, called on first use; if it raises, the next use calls it again."""
        trace = cls.__new__(cls)
        trace._contents, trace._make = [], make  # noqa: SLF001  (its own class)
        return trace

    def _load(self) -> Contents:
        """Two threads may both make it and get the first result; no lock, which a fork could leave locked."""
        make = self._make
        if not self._contents and make is not None:
            self._contents.append(make()._load())  # noqa: SLF001  (its own class)
            self._make = None
            del self._contents[1:]
        return self._contents[0]

    _tables = property(lambda self: self._load()[0])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the source has besides the tables."""
        return self._load()[1]

    def __reduce__(self) -> tuple[type[Trace], Contents]:
        return type(self), self._load()

    tracks = property(
        lambda self: self._tables["tracks"], doc="Processes, threads, streams, counters; the row number is the id."
    )
    spans = property(lambda self: self._tables["spans"], doc="Intervals with a name.")
    instants = property(lambda self: self._tables["instants"], doc="Points in time.")
    counters = property(lambda self: self._tables["counters"], doc="Values over time.")
    edges = property(lambda self: self._tables["edges"], doc="Dependencies between two points.")
    operations = property(lambda self: self._tables["operations"], doc="Hook records, in order.")
    stacks = property(lambda self: self._tables["stacks"], doc="Python stacks; the row number is the id.")

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return dict(self._tables)

    def replace(self, metadata: Mapping[str, Any] | None = None, **tables: pa.Table | Columns) -> Trace:
        """The same trace with other tables or other metadata."""
        return Trace({**self._tables, **tables}, {**self.metadata, **(metadata or {})})

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Query with SQL (DuckDB). The tables have their names; each has its row numbers as the column `id`."""
        from eventide.trace._sql import query_tables

        return query_tables(self._tables, query)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a .pftrace (to view), .json or .json.gz (for other tools) or .parquet (to keep); return its path.

        It is written under another name and renamed, so that the file is always complete. If it cannot be written:
        TraceFileError, an OSError.
        """
        from eventide.trace._save import save

        return save(self, path)

    def check(self) -> Checked:
        """Counts and times of the trace; UsageValueError that names inconsistent rows."""
        from eventide.trace._check import check

        return check(self)

    def __repr__(self) -> str:
        if not self._contents:
            return "<Trace, whose tables are made on first use>"
        counts = fmt.counts({name: table.num_rows for name, table in self._tables.items()})
        return f"<Trace of {counts}{self._extent()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables and their rows, and what may be missing."""
        rows = [(name, f"{table.num_rows:,}") for name, table in self._tables.items() if table.num_rows]
        warnings = "; ".join(str(each) for each in self.metadata.get("warnings") or [])
        next_step = "trace.report() has the findings, trace.report('r.html') a page with a timeline."
        caption = f"Trace{self._extent()}" if self._contents else "Trace"
        return html_text.table(
            caption, ("table", "rows"), rows, 1, f"{warnings}. {next_step}" if warnings else next_step
        )

    def _extent(self) -> str:
        """Source and duration for the repr: " from eventide, 1.5 s"."""
        from eventide.trace._check import time_range

        source = f" from {self.metadata['source']}" if self.metadata["source"] else ""
        first, last = time_range(self)
        return source if first is None or last is None else f"{source}, {(last - first) / 1e9:g} s"


def table_of(name: str, given: pa.Table | Columns | None) -> pa.Table:
    """The table in its schema: missing columns are null, unknown columns are an error."""
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
    """From Python's values or numpy's. Lone surrogates, which UTF-8 cannot represent, become escapes."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        return pa.array(values, plain)
    except UnicodeEncodeError:
        return pa.array([_spelled(value) for value in values], plain)


def _spelled(value: Any) -> Any:
    """A text, or the texts in the frames of a stack, with escapes for what UTF-8 cannot represent."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_spelled(each) for each in value]
    if isinstance(value, dict):
        return {key: _spelled(each) for key, each in value.items()}
    return value
