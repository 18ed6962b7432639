"""Trace.sql: DuckDB over the tables, with the row numbers as a column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from eventide.errors import UsageTypeError, UsageValueError

if TYPE_CHECKING:
    import duckdb


def query_tables(tables: Mapping[str, pa.Table], query: str) -> duckdb.DuckDBPyRelation:
    """The result as a relation, evaluated when it is fetched; UsageValueError with the message of DuckDB."""
    import duckdb

    connection = duckdb.connect()
    # A query that names no table may list all of them.
    named = {name for name in tables if re.search(rf"\b{name}\b", str(query), re.IGNORECASE)} or set(tables)
    for name in named:
        connection.register(name, _with_ids(tables[name]))
    return run_query(connection, query)


def run_query(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyRelation:
    """The result of a query on the tables of a connection; UsageValueError with the message of DuckDB."""
    import duckdb

    if not isinstance(query, str):
        raise UsageTypeError(f"sql takes the query as text, not {type(query).__name__}")
    try:
        answer = connection.sql(query)
    except duckdb.Error as error:
        raise UsageValueError(f"the query is invalid: {error}") from error
    if answer is None:
        raise UsageValueError(f"the query returns no rows: {query!r}; use SELECT")
    return answer


def _with_ids(table: pa.Table) -> pa.Table:
    """The row number is the id that other tables refer to; DuckDB guarantees no order."""
    return table.add_column(0, "id", pa.array(np.arange(table.num_rows)))
