"""Files that are cut, broken or hostile: an error with path and offset, or what is good and a warning; never a hang."""

import gzip
import json
import tracemalloc
import zlib

import pytest

import eventide as et
from eventide.trace.formats.chrome import _reader
from tests.kineto_files import read, rows

GOOD = '{"ph":"X","name":"good","pid":1,"tid":1,"ts":1,"dur":2}'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "trace.json"


def _refused(file, content, **options):
    with pytest.raises(et.TraceFormatError) as caught:
        read(file, content, **options)
    assert caught.value.path == str(file)
    return caught.value


@pytest.mark.parametrize("content", ["", " \n\t "])
def test_an_empty_file_is_reported_as_empty(file, content):
    assert "the file has only white space" in str(_refused(file, content))


@pytest.mark.parametrize("content", ["hello", "42", '"text"', "null", "<html>", "\0\0\0", "PK\3\4"])
def test_a_file_that_is_not_json_is_refused_at_its_first_byte(file, content):
    error = _refused(file, content)
    assert "a trace starts with { or [" in str(error) and error.offset == 0


def test_json_without_events_names_its_keys(file):
    error = _refused(file, {"name": "package", "version": 1})
    assert "JSON without traceEvents is not a Chrome trace; it has 'name', 'version'" in str(error)


def test_events_that_are_not_an_array_are_refused_with_their_offset(file):
    error = _refused(file, '{"traceEvents": {"a": 1}}')
    assert "traceEvents is not an array" in str(error) and error.offset == 16


def test_an_array_of_numbers_is_not_a_trace(file):
    assert "an array without objects" in str(_refused(file, [1, 2, 3]))


@pytest.mark.parametrize("content", ["[]", '{"traceEvents": []}', "[", '{"traceEvents": ['])
def test_an_empty_trace_is_valid(file, content):
    assert read(file, content).spans.num_rows == 0


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"args":', '{"traceEvents":[['])
def test_a_million_nested_brackets_are_refused(file, opening):
    assert "nested deeper than 400 levels" in str(_refused(file, opening * 10**6))


def test_a_million_braces_are_not_json(file):
    assert "expected a key in quotes" in str(_refused(file, "{" * 10**6))


def test_deep_nesting_after_valid_events_loses_only_what_follows(file):
    trace = read(file, f"[{GOOD}," + '{"args":' * 10**6)
    assert rows(trace, "spans", "name") == ["good"]
    assert "nested deeper than 400 levels" in trace.metadata["warnings"][0]
    assert trace.metadata["account"]["lost_bytes"] == 8 * 10**6


def test_a_truncated_file_is_read_up_to_its_last_complete_event(file):
    text = json.dumps({"traceEvents": [json.loads(GOOD)] * 3})
    cut = text[: text.rindex('"ts"')]
    trace = read(file, cut)
    assert trace.spans.num_rows == 2
    lost = len(cut) - cut.rindex('{"ph"')
    (warning,) = trace.metadata["warnings"]
    assert "ends in the middle of an event" in warning and "2 events before it were read" in warning
    assert trace.metadata["account"]["lost_bytes"] == pytest.approx(lost, abs=2)  # the comma and the blank before it
    assert trace.metadata["account"]["end"] == "cut"


def test_every_cut_of_a_document_is_read_or_refused(file):
    text = '{"schemaVersion": 1, "x": [1, {"y": "\\u00e9é"}], "traceEvents": [' + GOOD + ", " + GOOD + '], "z": -1.5e3}'
    data = text.encode()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        whole = data[:length].count(b'"dur":2}')
        try:
            trace = _reader.read(file)
        except et.TraceFormatError:
            assert whole == 0
        else:
            assert trace.spans.num_rows == whole


def test_events_before_invalid_bytes_are_kept_and_the_offset_is_reported(file):
    trace = read(file, f"[{GOOD}, @@@, {GOOD}]")
    assert trace.spans.num_rows == 1
    place = len(f"[{GOOD}, ")
    assert f"byte {place} is not JSON (expected a value)" in trace.metadata["warnings"][0]


def test_bytes_after_the_end_are_counted(file):
    trace = read(file, f"[{GOOD}] \n\0\0garbage")
    assert trace.spans.num_rows == 1
    assert trace.metadata["warnings"] == ["9 bytes after the end of the trace were not read"]


def test_a_missing_closing_bracket_is_allowed_as_in_chrome(file):
    assert read(file, f"[{GOOD},\n{GOOD},\n").metadata["warnings"] == []
    warning = read(file, '{"traceEvents": [' + GOOD).metadata["warnings"][0]
    assert "ends after a complete event, without its closing brackets" in warning


@pytest.mark.parametrize(
    "word", ["NaN", "Infinity", "-Infinity", "nan", "-nan", "inf", "-inf", "null", "true", "[]", '"x"']
)
def test_events_whose_time_is_not_a_number_are_dropped_with_a_warning(file, word):
    trace = read(file, f'[{GOOD}, {{"ph":"X","name":"bad","ts":{word},"dur":1}}]')
    assert rows(trace, "spans", "name") == ["good"]
    assert trace.metadata["warnings"] == ["events were left out: 1 (time out of range)"]


@pytest.mark.parametrize("number", ["9223372036854775807", "-9223372036854775808", "1e300", "1" * 400, "1e99999999999"])
def test_events_whose_time_exceeds_64_bits_are_dropped(file, number):
    trace = read(file, f'[{{"ph":"X","ts":{number},"dur":1}}, {{"ph":"X","ts":1,"dur":{number}}}]')
    assert trace.spans.num_rows == 0
    assert sum(trace.metadata["account"]["ignored"].values()) == 2


@pytest.mark.parametrize("number", ["1e-400", "0.0000000000000000000001", "-0", "0e999"])
def test_very_small_times_are_zero(file, number):
    assert rows(read(file, f'[{{"ph":"X","ts":{number},"dur":{number}}}]'), "spans", "start", "duration") == [(0, 0)]


def test_ids_of_64_bits_and_more_are_distinguished(file):
    ids = [2**63 - 1, -(2**63), 2**64 - 1, 10**30, 1.5, True, None, [1], "x"]
    trace = read(file, [{"ph": "X", "ts": 1, "dur": 1, "pid": number, "tid": 1} for number in ids])
    assert len(set(rows(trace, "spans", "track"))) == len(ids)


def test_arrows_in_a_file_without_slices_are_counted(file):
    arrow = {"ts": 0, "id": 3, "cat": "ac2g", "name": "ac2g", "bp": "e", "pid": 1, "tid": 2}
    trace = read(file, [{**arrow, "ph": "f"}, {**arrow, "ph": "f", "name": "other"}])
    assert trace.edges.num_rows == 0
    assert trace.metadata["account"]["untied"] == {"flow ends without a start": 2}


def test_correlations_that_are_not_integers_are_null(file):
    values = [1.5, "x", 10**30, None, [1], "0x10", 7.0]
    events = [
        {"ph": "X", "ts": 1, "dur": 1, "pid": 0, "tid": 7, "cat": "kernel", "args": {"correlation": v}} for v in values
    ]
    assert rows(read(file, events), "spans", "correlation") == [None, None, None, None, None, 16, 7]


def test_the_last_value_of_a_duplicate_key_is_used(file):
    event = '{"ph":"X","name":"a","name":"b","ts":1,"ts":2,"dur":1,"args":{"correlation":1},"args":{"correlation":2}}'
    trace = read(file, f'{{"schemaVersion": 1, "schemaVersion": 2, "traceEvents": [{event}]}}')
    assert rows(trace, "spans", "name", "start", "correlation") == [("b", 2000, 2)]
    assert trace.metadata["file"] == {"schemaVersion": 2}
    assert trace.metadata["warnings"] == ["'schemaVersion' is a duplicate key; the last value is used"]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"\xff\xfe", "��"),
        (b"caf\xe9", "caf�"),
        (b"\xed\xa0\x80", "���"),
        (b"\\ud800", "�"),
        (b"\\udc00\\ud800x", "��x"),
        (b"\\ud83d\\ude00", "😀"),
        (b"a\x00b\x1f", "a\0b\x1f"),
        (b"C:\\Users\\u12", "C:\\Users\\u12"),
        (b"\\u00e9\\n", "é\n"),
        (b"\xf0\x9f\x98\x80", "😀"),
    ],
)
def test_invalid_texts_become_valid_unicode(file, raw, name):
    content = b'[{"ph":"X","name":"' + raw + b'","ts":1,"dur":1,"args":{"k":"' + raw + b'","n":NaN}}]'
    trace = read(file, content)
    assert rows(trace, "spans", "name") == [name]
    assert json.loads(rows(trace, "spans", "args")[0]) == {"k": name, "n": None}
    assert "were repaired" in trace.metadata["warnings"][0]


def test_a_huge_name_is_kept_and_an_event_over_the_limit_is_refused(file):
    huge = "x" * (5 << 20)
    content = [{"ph": "X", "name": huge, "ts": 1, "dur": 1}]
    assert rows(read(file, content), "spans", "name") == [huge]
    assert "a value is longer than the limit" in str(_refused(file, content, max_event=1 << 20))


def test_the_size_of_an_unterminated_string_is_bounded(file):
    assert "a value is longer than the limit" in str(_refused(file, '[{"name":"' + "x" * (6 << 20), max_event=1 << 20))


def _bomb(count: int) -> bytes:
    squeeze = zlib.compressobj(6, wbits=31, strategy=zlib.Z_RLE)
    head = squeeze.compress(b"[")
    body = b"".join(squeeze.compress(b" " * (1 << 20)) for _ in range(count))
    return head + body + squeeze.compress(GOOD.encode() + b"]") + squeeze.flush()


def test_a_gzip_bomb_is_refused_in_bounded_memory_unless_it_is_allowed(file):
    file.write_bytes(_bomb(70))
    tracemalloc.start()
    with pytest.raises(
        et.TraceFormatError, match="this looks like a decompression bomb; if it is not, inflate it with gunzip first"
    ):
        _reader.read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    assert _reader.read(file, inflate_limit=None).spans.num_rows == 1


def test_a_truncated_gzip_stream_is_read_up_to_its_end(tmp_path):
    events = ",\n".join(f'{{"ph":"X","name":"n{i}","ts":{i * 7919 % 104729},"dur":{i}}}' for i in range(20_000))
    whole = gzip.compress(f"[{events}]".encode())
    file = tmp_path / "trace.json.gz"
    file.write_bytes(whole[: len(whole) // 2])
    trace = _reader.read(file)
    assert 5_000 < trace.spans.num_rows < 15_000
    assert any("the gzip stream ends early" in warning for warning in trace.metadata["warnings"])
    assert any("in the middle of an event" in warning for warning in trace.metadata["warnings"])


def test_a_damaged_gzip_stream_is_read_up_to_the_damage(tmp_path):
    events = ",\n".join(f'{{"ph":"X","name":"n{i}","ts":{i * 7919 % 104729},"dur":{i}}}' for i in range(20_000))
    whole = bytearray(gzip.compress(f"[{events}]".encode()))
    middle = len(whole) // 2
    whole[middle : middle + 64] = bytes(255 for _ in range(64))
    file = tmp_path / "trace.json.gz"
    file.write_bytes(whole)
    trace = _reader.read(file)
    assert trace.spans.num_rows < 20_000
    assert trace.metadata["warnings"]


def test_concatenated_gzip_files_are_one_file(tmp_path):
    file = tmp_path / "trace.json.gz"
    file.write_bytes(gzip.compress(b"[" + GOOD.encode()) + gzip.compress(b"," + GOOD.encode() + b"]") + b"\0" * 512)
    trace = _reader.read(file)
    assert trace.spans.num_rows == 2 and trace.metadata["warnings"] == []


def test_a_byte_order_mark_is_ignored(file):
    assert read(file, b"\xef\xbb\xbf[" + GOOD.encode() + b"]").spans.num_rows == 1


@pytest.mark.parametrize("base", ['"x"', "1e400", str(10**30), "true", "[]", "null"])
def test_an_invalid_base_time_is_reported_and_treated_as_zero(file, base):
    trace = read(file, f'{{"baseTimeNanoseconds": {base}, "traceEvents": [{GOOD}]}}')
    assert rows(trace, "spans", "start") == [1000]
    warnings = trace.metadata["warnings"]
    assert ["which is not a time; 0 is used" in warning for warning in warnings] == [True] * (base != "null")


def test_members_of_an_unexpected_type_are_ignored(file):
    document = {
        "deviceProperties": "none", "distributedInfo": [1], "displayTimeUnit": 7, "schemaVersion": {"a": 1},
        "traceEvents": [{"ph": "M", "name": "process_name", "args": 5}, {"ph": "M", "name": "thread_name", "args": []}],
    }  # fmt: skip
    assert read(file, document).metadata["rank"] is None


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(et.TraceFileNotFoundError, match=r"cannot read .*No such file"):
        _reader.read(tmp_path / "absent.json")


def test_a_directory_is_an_os_error(tmp_path):
    with pytest.raises(et.TraceFileError, match="cannot read"):
        _reader.read(tmp_path)
