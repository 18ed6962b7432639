"""Perfetto's files: ours are read back whole, those of other writers become spans, instants, counters and edges."""

import gzip
import json
import struct
import zlib

import pytest

import eventide as et
from eventide.trace.formats.perfetto._proto import field
from tests.reference.traces import assert_same, odd_names_trace, small_trace


@pytest.mark.parametrize("trace", [small_trace(), odd_names_trace(), et.Trace({})], ids=["small", "odd names", "empty"])
def test_every_row_is_read_back(trace, tmp_path):
    assert_same(et.open_trace(trace.save(tmp_path / "t.pftrace")), trace)


def long_trace(count=6000):
    """So many spans that they are several compressed packets."""
    spans = {"track": [0] * count, "name": ["work"] * count, "category": ["span"] * count}
    spans |= {"start": range(0, 10 * count, 10), "duration": [5] * count}
    spans["args"] = [json.dumps({"i": i * i}) for i in range(count)]
    edges = {"kind": ["wait"] * 3, "from_track": [0] * 3, "to_track": [0] * 3, "from_span": [0, 1, 2]}
    edges |= {"from_time": [0, 10, 20], "to_time": [5000, 30_000, 59_990], "to_span": [500, 3000, 5999]}
    tracks = {"kind": ["thread"], "name": ["the only one"], "pid": [1], "tid": [1]}
    return et.Trace({"tracks": tracks, "spans": spans, "edges": edges})


def test_a_file_that_was_cut_anywhere_is_read_up_to_its_last_whole_packet(tmp_path):
    path = long_trace().save(tmp_path / "t.pftrace")
    data = path.read_bytes()
    before = [(i * 10, json.dumps({"i": i * i})) for i in range(6000)]
    seen = set()
    for size in range(data.rindex(b"the only one"), len(data), 2503):
        path.write_bytes(data[:size])
        trace = et.open_trace(path)
        trace.check()
        count = trace.spans.num_rows
        assert columns(trace.spans, "start", "args") == before[:count]
        seen.add((count, trace.edges.column("to_span").null_count))
        assert f"{count:,} of 6,000 spans are in the file" in trace.metadata["warnings"]
    assert len(seen) >= 3
    assert (0, 3) in seen


def test_nothing_is_read_behind_a_damaged_piece_because_times_are_differences(tmp_path):
    path = long_trace().save(tmp_path / "t.pftrace")
    data = bytearray(path.read_bytes())
    data[-2000] ^= 1
    path.write_bytes(data)
    trace = et.open_trace(path)
    trace.check()
    warnings = trace.metadata["warnings"]
    assert "are damaged; nothing from there on was read" in warnings[0]
    assert f"{trace.spans.num_rows:,} of 6,000 spans are in the file" in warnings[1]
    assert 1000 < trace.spans.num_rows < 5900


def test_packets_that_inflate_beyond_the_limit_are_refused(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(field(1, field(50, zlib.compress(bytes(80 << 20), 9))))
    with pytest.raises(et.TraceFormatError, match="this looks like a decompression bomb"):
        et.open_trace(path)


def test_a_compressed_file_is_read(tmp_path):
    path = small_trace().save(tmp_path / "t.pftrace")
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert_same(et.open_trace(path), small_trace())


def test_a_newer_version_is_refused_by_name(tmp_path):
    about = json.dumps({"version": 9})
    path = tmp_path / "t.pftrace"
    path.write_bytes(field(1, field(5, field(2, field(1, "eventide") + field(2, about)))))
    with pytest.raises(et.TraceFormatError, match="has version 9 and this Eventide reads 1; install a newer one"):
        et.open_trace(path)


# --- files of others, as their writers lay them out


def packet(*fields, sequence=1):
    return field(1, b"".join(fields) + field(10, sequence))


def event(kind, *fields):
    return field(11, field(9, kind) + b"".join(fields))


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def interned(**names):
    numbers = {"category": 1, "name": 2, "argument": 3, "text": 29}
    return field(12, b"".join(field(numbers[key], field(1, n) + field(2, text)) for key, (n, text) in names.items()))


def opened(tmp_path, *packets):
    path = tmp_path / "t.pftrace"
    path.write_bytes(b"".join(packets))
    trace = et.open_trace(path)
    trace.check()
    return trace


def columns(table, *names):
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def test_plain_names_and_absolute_times(tmp_path):
    trace = opened(
        tmp_path,
        packet(field(60, field(1, 5) + field(3, field(1, 77) + field(6, "a process")))),
        packet(field(60, field(1, 6) + field(5, 5) + field(4, field(1, 77) + field(2, 78) + field(5, "a thread")))),
        packet(field(8, 100), event(BEGIN, field(23, "outer"), field(22, "io"), field(11, 6))),
        packet(field(8, 110), event(BEGIN, field(23, "inner"), field(11, 6))),
        packet(field(8, 150), event(END, field(11, 6))),
        packet(field(8, 160), event(INSTANT, field(23, "now"), field(11, 6))),
        packet(field(8, 190), event(END, field(11, 6))),
        packet(field(8, 195), event(BEGIN, field(23, "open"), field(11, 6))),
    )
    assert columns(trace.tracks, "kind", "name", "parent", "pid", "tid") == [
        ("process", "a process", None, 77, None),
        ("thread", "a thread", 0, 77, 78),
    ]
    assert columns(trace.spans, "track", "name", "category", "start", "duration", "args") == [
        (1, "outer", "other", 100, 90, '{"cat": "io"}'),
        (1, "inner", "span", 110, 40, None),
        (1, "open", "span", 195, None, None),
    ]
    assert columns(trace.instants, "name", "time") == [("now", 160)]
    assert trace.metadata["source"] == "perfetto"


def test_interned_names_are_cleared_when_the_sequence_requests_it(tmp_path):
    trace = opened(
        tmp_path,
        packet(field(13, 1), interned(name=(1, "first"))),
        packet(field(8, 1), field(13, 2), event(INSTANT, field(10, 1), field(11, 9))),
        packet(field(13, 1), interned(name=(1, "second"))),
        packet(field(8, 2), field(13, 2), event(INSTANT, field(10, 1), field(11, 9))),
        packet(field(13, 1), interned(name=(1, "of another")), sequence=2),
        packet(field(8, 3), field(13, 2), event(INSTANT, field(10, 1), field(11, 9))),
        packet(field(8, 4), field(13, 2), event(INSTANT, field(10, 1), field(11, 9)), sequence=3),
    )
    assert columns(trace.instants, "name", "time") == [("first", 1), ("second", 2), ("second", 3)]
    assert trace.metadata["account"]["lost"] == 1
    assert "1 events need packets before the start of the file" in trace.metadata["warnings"][0]


def test_times_may_be_differences_on_a_clock_of_the_sequence(tmp_path):
    def clock(number, value, *more):
        return field(1, field(1, number) + field(2, value) + b"".join(more))

    defaults = field(59, field(58, 64) + field(11, field(11, 9)))
    trace = opened(
        tmp_path,
        packet(field(13, 1), defaults),
        packet(field(6, clock(6, 1_000_000) + clock(64, 500, field(3, 1), field(4, 1000)))),
        packet(field(8, 5), event(BEGIN, field(23, "a"))),
        packet(field(8, 7), event(END)),
        packet(field(8, 1_020_000), field(58, 6), event(INSTANT, field(23, "b"))),
    )
    assert columns(trace.spans, "name", "start", "duration") == [("a", 1_005_000, 7_000)]
    assert columns(trace.instants, "name", "time") == [("b", 1_020_000)]


def test_events_of_several_sequences_are_put_in_the_order_of_time(tmp_path):
    trace = opened(
        tmp_path,
        packet(field(8, 30), event(END, field(11, 9))),
        packet(field(8, 10), event(BEGIN, field(23, "a"), field(11, 9)), sequence=2),
        packet(field(8, 40), event(END, field(11, 9))),
    )
    assert columns(trace.spans, "name", "start", "duration") == [("a", 10, 20)]
    assert trace.metadata["account"]["loose_ends"] == 1


def test_compressed_packets_are_read_in_their_place(tmp_path):
    inner = packet(field(13, 1), interned(name=(1, "inside")))
    trace = opened(
        tmp_path,
        packet(field(50, zlib.compress(inner))),
        packet(field(8, 2), field(13, 2), event(INSTANT, field(10, 1), field(11, 9))),
    )
    assert columns(trace.instants, "name") == [("inside",)]


def test_annotations_become_arguments(tmp_path):
    def note(name, *value):
        return field(4, field(10, name) + b"".join(value))

    real = b"\x29" + struct.pack("<d", 2.0)
    nested = field(11, field(10, "x") + field(4, -1)) + field(11, field(1, 7) + field(17, 3))
    trace = opened(
        tmp_path,
        packet(field(13, 1), interned(argument=(7, "y"), text=(3, "a text"))),
        packet(
            field(8, 2),
            event(
                INSTANT,
                field(11, 9),
                note("on", field(2, 1)),
                note("large", field(3, 2**64 - 1)),
                note("real", real),
                note("text", field(6, 'a "b"\n')),
                note("nested", nested),
                note("list", field(12, field(4, 1)), field(12, field(6, "two"))),
                note("json", field(9, '{"a": [null]}')),
                note("broken", field(9, "{")),
                note("nothing"),
            ),
        ),
    )
    assert json.loads(trace.instants.column("args")[0].as_py()) == {
        "on": True,
        "large": 2**64 - 1,
        "real": 2.0,
        "text": 'a "b"\n',
        "nested": {"x": -1, "y": "a text"},
        "list": [1, "two"],
        "json": {"a": [None]},
        "broken": "{",
        "nothing": None,
    }


def test_counters_in_units_as_differences_and_beside_events(tmp_path):
    trace = opened(
        tmp_path,
        packet(field(60, field(1, 5) + field(2, "bytes") + field(8, field(4, 1024)))),
        packet(field(60, field(1, 6) + field(2, "steps") + field(8, field(5, 1)))),
        packet(field(13, 1), field(59, field(11, field(11, 9) + field(31, 6)))),
        packet(field(8, 1), event(COUNTER, field(11, 5), field(30, 3))),
        packet(field(8, 2), event(INSTANT, field(23, "i"), field(12, 4))),
        packet(field(8, 3), event(INSTANT, field(23, "i"), field(12, 5))),
    )
    assert columns(trace.counters, "name", "time", "value") == [
        ("bytes", 1, 3072.0),
        ("steps", 2, 4.0),
        ("steps", 3, 9.0),
    ]


def test_flows_become_edges(tmp_path):
    def flow(number, identity):
        return field(number, 0)[:-1].replace(bytes([number << 3 & 0x7F | 0x80]), bytes([number << 3 & 0x7F | 0x81])) + (
            struct.pack("<Q", identity)
        )

    trace = opened(
        tmp_path,
        packet(field(8, 1), event(BEGIN, field(23, "a"), field(11, 9), flow(47, 5))),
        packet(field(8, 2), event(END, field(11, 9))),
        packet(field(8, 3), event(BEGIN, field(23, "b"), field(11, 8), flow(47, 5))),
        packet(field(8, 4), event(END, field(11, 8))),
        packet(field(8, 5), event(INSTANT, field(23, "c"), field(11, 9), flow(48, 5))),
        packet(field(8, 6), event(INSTANT, field(23, "d"), field(11, 9), flow(48, 5))),
    )
    assert columns(trace.edges, "kind", "from_span", "to_span", "from_time", "to_time") == [
        ("flow", 0, 1, 1, 3),
        ("flow", 1, None, 3, 5),
    ]


def test_older_writers_describe_the_thread_once_and_count_microseconds(tmp_path):
    thread = field(44, field(1, 7) + field(2, 8) + field(5, "old") + field(6, 1000))
    legacy = field(6, field(2, ord("X")) + field(3, 50) + field(1, 1))
    trace = opened(
        tmp_path,
        packet(field(13, 1), thread, interned(name=(1, "complete"))),
        packet(field(13, 2), field(11, field(1, 10) + field(9, 1) + field(23, "a"))),
        packet(field(13, 2), field(11, field(1, 5) + field(9, 2))),
        packet(field(13, 2), field(11, field(16, 2000) + legacy)),
        packet(field(13, 2), field(11, field(16, 2001) + field(6, field(2, ord("N"))))),
    )
    assert columns(trace.tracks, "kind", "name", "pid", "tid") == [("thread", "old", 7, 8)]
    assert columns(trace.spans, "name", "start", "duration") == [
        ("a", 1_010_000, 5_000),
        ("complete", 2_000_000, 50_000),
    ]
    assert trace.metadata["account"]["legacy"] == 1


def test_texts_that_are_not_utf8_are_repaired(tmp_path):
    trace = opened(tmp_path, packet(field(8, 1), event(INSTANT, field(23, b"\xff ok"), field(11, 9))))
    assert columns(trace.instants, "name") == [("\ufffd ok",)]
    assert "some texts are not UTF-8" in trace.metadata["warnings"][0]


def test_a_kernel_trace_without_track_events_is_an_error(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(field(1, field(8, 1) + field(1, b"\x08\x00")))
    with pytest.raises(et.TraceFormatError, match="there are no track events in this Perfetto trace"):
        et.open_trace(path)
