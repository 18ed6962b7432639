"""Parquet keeps a trace whole: every table, every column, nulls and metadata."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eventide as et
from eventide.trace import SCHEMAS
from tests.reference.traces import assert_same, odd_names_trace, small_trace


@pytest.mark.parametrize("trace", [small_trace(), odd_names_trace(), et.Trace({})], ids=["small", "odd names", "empty"])
def test_every_row_is_read_back(trace, tmp_path):
    back = et.open_trace(trace.save(tmp_path / "t.parquet"))
    assert_same(back, trace)
    assert all(table.schema.equals(SCHEMAS[name]) for name, table in back.tables.items())


def test_tables_in_several_chunks_are_read_back(tmp_path):
    one = small_trace()
    spans = pa.concat_tables([one.spans, one.spans.slice(1, 3)])
    trace = one.replace(spans=spans)
    assert_same(et.open_trace(trace.save(tmp_path / "t.parquet")), trace)


def test_saving_again_replaces_the_directory_and_a_file_alike(tmp_path):
    target = tmp_path / "t.parquet"
    target.write_text("a file")
    small_trace().save(target)
    odd_names_trace().save(target)
    assert_same(et.open_trace(target), odd_names_trace())
    assert list(tmp_path.iterdir()) == [target]


def test_any_tool_can_query_a_table(tmp_path):
    small_trace().save(tmp_path / "t.parquet")
    query = f"select sum(duration) from read_parquet('{tmp_path}/t.parquet/spans.parquet')"
    assert et.Trace({}).sql(query).fetchall() == [(5_000,)]


def test_one_table_alone_is_not_a_trace(tmp_path):
    small_trace().save(tmp_path / "t.parquet")
    with pytest.raises(et.TraceFormatError, match="the file holds spans only; open its directory"):
        et.open_trace(tmp_path / "t.parquet" / "spans.parquet")


def test_a_missing_table_is_named(tmp_path):
    path = small_trace().save(tmp_path / "t.parquet")
    (path / "edges.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(et.TraceFormatError, match=r"the trace's edges.parquet is missing or damaged"):
        et.open_trace(path)


def test_parquet_of_other_writers_is_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(et.TraceFormatError, match="this Parquet file is not a table of an Eventide trace"):
        et.open_trace(tmp_path / "other.parquet")


def test_a_newer_version_is_refused_by_name(tmp_path):
    path = small_trace().save(tmp_path / "t.parquet")
    file = path / "tracks.parquet"
    table = pq.read_table(file)
    about = json.loads(table.schema.metadata[b"eventide"])
    pq.write_table(table.replace_schema_metadata({"eventide": json.dumps({**about, "version": 9})}), file)
    with pytest.raises(et.TraceFormatError, match="has version 9 and this Eventide reads 1; install a newer one"):
        et.open_trace(path)
