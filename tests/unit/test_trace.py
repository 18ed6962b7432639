"""Trace: tables in their schema, SQL, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide.trace import CATEGORIES, SCHEMAS
from tests.reference.traces import small_trace


def test_an_empty_trace_has_every_table():
    trace = et.Trace({})
    assert {name: table.num_rows for name, table in trace.tables.items()} == dict.fromkeys(SCHEMAS, 0)
    assert all(table.schema.equals(SCHEMAS[name]) for name, table in trace.tables.items())
    assert repr(trace) == "<Trace of nothing>"
    assert trace.metadata == {"source": "", "clock": {}, "account": {}, "warnings": []}


def test_columns_that_are_missing_are_null_and_all_have_the_type_of_the_schema():
    trace = et.Trace({"spans": {"name": ["a", "b"], "start": [1, 2]}})
    assert trace.spans.schema.equals(SCHEMAS["spans"])
    assert trace.spans.column("name").to_pylist() == ["a", "b"]
    assert trace.spans.column("duration").to_pylist() == [None, None]
    assert repr(trace) == "<Trace of 2 spans, 1e-09 s>"


def test_the_repr_has_counts_source_and_duration():
    spans = {"name": ["a", "b"], "start": [0, 500_000_000], "duration": [10, 1_000_000_000]}
    trace = et.Trace({"tracks": {"kind": ["thread"]}, "spans": spans}, {"source": "kineto"})
    assert repr(trace) == "<Trace of 1 track, 2 spans from kineto, 1.5 s>"


def test_a_pyarrow_table_may_have_its_columns_in_another_order_and_type():
    given = pa.table({"start": pa.array([1], pa.int32()), "name": pa.array(["a"])})
    trace = et.Trace({"spans": given})
    assert trace.spans.schema.equals(SCHEMAS["spans"])
    assert trace.spans.column("start").to_pylist() == [1]
    same = et.Trace({"spans": trace.spans})
    assert same.spans is trace.spans


def test_columns_may_be_numpy_arrays_or_arrow_arrays():
    columns = {
        "name": pa.array(["a", "b"]),
        "start": np.array([1, 2], np.int32),
        "duration": pa.chunked_array([[3], [4]]),
    }
    trace = et.Trace({"spans": columns})
    assert trace.spans.select(["name", "start", "duration"]).to_pylist() == [
        {"name": "a", "start": 1, "duration": 3},
        {"name": "b", "start": 2, "duration": 4},
    ]


def test_a_lone_surrogate_is_escaped():
    trace = et.Trace({"spans": {"name": ["a\ud800b", None, "é"], "args": ['{"a": "\udfff"}', None, None]}})
    assert trace.spans.column("name").to_pylist() == ["a\\ud800b", None, "é"]
    assert trace.spans.column("args").to_pylist() == ['{"a": "\\udfff"}', None, None]


@pytest.mark.parametrize(
    ("tables", "error", "words"),
    [
        ({"slices": {}}, et.UsageError, "a trace has no table 'slices'; it has tracks, spans"),
        ({"spans": {"begin": [1]}}, ValueError, "spans have no column 'begin'; they have track, name"),
        ({"spans": [1]}, TypeError, "spans must be a pyarrow.Table or a dict of columns, not list"),
    ],
)
def test_unknown_tables_and_columns_are_refused(tables, error, words):
    with pytest.raises(error, match=words):
        et.Trace(tables)


def test_replace_gives_another_trace_and_leaves_this_one():
    trace = small_trace()
    other = trace.replace({"rank": 3}, spans={"name": ["only"], "track": [0], "start": [0], "category": ["span"]})
    assert (other.spans.num_rows, trace.spans.num_rows) == (1, 5)
    assert (other.metadata["rank"], trace.metadata["rank"]) == (3, 0)
    assert other.tracks is trace.tracks


def test_sql_sees_the_tables_by_name_with_their_row_numbers_as_id():
    trace = small_trace()
    query = """
        select spans.id, spans.name, tracks.name as stream
        from spans join tracks on spans.track = tracks.id
        where tracks.kind = 'stream' order by spans.id
    """
    assert trace.sql(query).fetchall() == [(1, "copy batch", "load"), (2, "forward", "train")]
    waits = "select f.name, t.name from edges e join spans f on f.id = e.from_span join spans t on t.id = e.to_span"
    assert trace.sql(f"{waits} where e.kind = 'wait'").fetchall() == [("copy batch", "forward")]


def test_sql_can_list_the_tables():
    assert sorted(row[0] for row in small_trace().sql("show tables").fetchall()) == sorted(SCHEMAS)


def test_an_answer_outlives_the_trace():
    answer = small_trace().sql("select sum(duration) from spans")
    assert answer.fetchall() == [(5_000,)]


def test_arguments_are_json_that_sql_can_look_into():
    answer = small_trace().sql("select json_extract_string(args, '$.who') from spans where args like '%who%'")
    assert answer.fetchall() == [('a "b"',)]


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        ("select nothing from spans", et.UsageError, 'the query is invalid: .*"nothing" not found'),
        ("selct 1", ValueError, "the query is invalid: Parser Error"),
        ("", ValueError, "the query returns no rows: ''; use SELECT"),
        (7, TypeError, "sql takes the query as text, not int"),
    ],
)
def test_a_wrong_query_is_a_usage_error_in_the_words_of_duckdb(query, error, words):
    with pytest.raises(error, match=words):
        small_trace().sql(query)


def test_every_category_has_a_meaning():
    assert all(CATEGORIES.values())
