"""`eventide trace convert` and `eventide trace sql`."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import eventide as et
from eventide.cli import main
from eventide.cli.commands import _convert, _sql
from tests.reference.traces import assert_same, small_trace


@pytest.fixture
def path(tmp_path):
    return small_trace().save(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".pftrace", ".json", ".json.gz", ".parquet"])
def test_convert_writes_the_same_trace_in_another_format(suffix, path, tmp_path, capsys):
    target = tmp_path / f"u{suffix}"
    assert main(["trace", "convert", str(path), str(target), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"]["spans"] == 5
    assert printed["target_bytes"] == _convert._size(target) > 0
    assert_same(et.open_trace(target), small_trace())


def test_convert_prints_contents_size_and_warnings(path, tmp_path, capsys):
    assert main(["trace", "convert", str(path), str(tmp_path / "u.pftrace")]) == 0
    out = capsys.readouterr().out
    assert "u.pftrace: 5 tracks, 5 spans, 2 instants, 3 counters, 4 edges, 3 operations, 2 stacks\n" in out
    assert "warning: none really" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["convert", "gone.json", "a.json"], "there is no file 'gone.json'"),
        (["convert", "{path}", "a.docx"], "'a.docx' has no suffix of a format that is written"),
        (["recover", "."], "'.' is a directory; give the .eventide file of the process that was killed"),
        (["sql", "{path}", "select x from spans"], 'the query is invalid: .*"x" not found'),
        (["sql", "{path}", "select cast(name as int) from spans"], "the query failed: Conversion Error"),
    ],
)
def test_misuse_is_code_2_and_one_line(arguments, words, path, capsys):
    assert main(["trace", *(argument.format(path=path) for argument in arguments)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(err)


def test_sql_prints_names_unchanged(path, capsys):
    assert main(["trace", "sql", str(path), "select 'a:x:b [bold]::fire:' as \"n:x:m\""]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == ["n:x:m", "a:x:b [bold]::fire:"]


def test_a_full_disk_is_reported_in_one_line_and_not_as_a_bug(path, capsys, monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", full)
        assert main(["trace", "sql", str(path), "select 1", "--json"]) == 2
        with pytest.raises(OSError, match="No space left"):
            full.close()
    assert capsys.readouterr().err == (
        "eventide: cannot write the output: No space left on device; free some space, or write elsewhere\n"
    )


def test_trace_without_a_command_names_what_is_missing(capsys):
    assert main(["trace"]) == 2
    assert capsys.readouterr().err == "eventide: name one of its commands (see 'eventide trace --help')\n"


def test_sql_prints_a_table(path, capsys):
    assert main(["trace", "sql", str(path), "select name, duration from spans order by duration desc nulls last"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name         duration",
        "step            2,500",
        "copy batch      1,000",
        "forward           800",
        "synchronize       700",
        "unfinished          -",
    ]


def test_sql_prints_all_rows_as_json(path, capsys):
    assert main(["trace", "sql", str(path), "select id, name from spans where category = 'work'", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"id": 1, "name": "copy batch"}, {"id": 2, "name": "forward"}]


def test_a_table_fits_the_terminal_and_counts_what_it_omits():
    file = StringIO()
    rows = [("n" * 200, 0.123456789, True, [1])] * 9
    _sql.show_rows(["a", "b", "c", "d"], rows, 3, Console(file=file, width=60, color_system=None))
    lines = file.getvalue().splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 60
    assert lines[-1] == "3 of 9 rows; --most 9 prints all"


def test_columns_with_the_same_name_are_numbered_as_in_duckdb(path, capsys):
    query = "select 1 as a, 2 as a, 3 as A, 4 as a_1"
    names = list(small_trace().sql(f"select * from ({query})").columns)
    assert names == ["a", "a_1", "A_2", "a_1_1"]
    assert main(["trace", "sql", str(path), query]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == names
    assert main(["trace", "sql", str(path), query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [dict(zip(names, (1, 2, 3, 4), strict=True))]


def test_values_that_json_cannot_express_are_strings(path, capsys):
    query = "select 'nan'::double as n, ['-inf'::double] as l, map{date '2026-01-02': 1.5::decimal(4, 2)} as m"
    assert main(["trace", "sql", str(path), query, "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=pytest.fail) == [{"n": "nan", "l": ["-inf"], "m": {"2026-01-02": "1.50"}}]


def shown(names, rows, width):
    file = StringIO()
    _sql.show_rows(names, rows, 50, Console(file=file, width=width, color_system=None))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_narrow_terminal_shortens_texts_and_not_numbers():
    names, rows = ["id", "what it is", "time"], [(1, "a long name of some work", 1_234_567), (2, "short", None)]
    assert shown(names, rows, 30) == [
        "id  what it is            time",
        " 1  a long name of…  1,234,567",
        " 2  short                    -",
    ]


def test_without_space_for_a_table_each_row_is_printed_as_a_complete_block():
    names, rows = ["id", "name", "start", "end"], [(1, "a name of 24 letters yes", 10**12, 2 * 10**12)] * 2
    block = [
        "  id     1",
        "  name   a name of 24 letters",
        "         yes",
        "  start  1,000,000,000,000",
        "  end    2,000,000,000,000",
    ]
    assert shown(names, rows, 30) == ["row 1", *block, "row 2", *block]
