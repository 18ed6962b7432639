"""Files of unknown origin: content that our writers never write is refused, dropped or bounded."""

from __future__ import annotations

import os
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eventide as et
from eventide import _native
from eventide.trace.formats.eventide._columns import texts
from eventide.trace.formats.perfetto._proto import field, varint
from tests.fuzz.damage import left_by_a_killed_process
from tests.reference.eventide_file import HEAD, NAMES, read

LAST = 2**63 - 1
SIZE = 14  # where an entry of a buffer has the size of its payload


def eventide_file(folder: Path, *frames: tuple[int, bytes]) -> Path:
    """A .eventide file of these frames."""
    path = folder / "a.eventide"
    heads = (struct.pack("<III", kind, len(data), zlib.crc32(data)) + data for kind, data in frames)
    path.write_bytes(b"EVENTIDE" + struct.pack("<I", 1) + b"".join(heads))
    return path


def opened_packets(folder: Path, *packets: bytes) -> et.Trace:
    """A Perfetto file of these packets, all of one sequence, as it is read."""
    path = folder / "t.pftrace"
    path.write_bytes(b"".join(field(1, packet + field(10, 1)) for packet in packets))
    trace = et.open_trace(path)
    trace.check()
    return trace


def columns(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, bytearray, int]:
    """A file that was not closed, the bytes of its buffer, and where the first chunk is in them."""
    file = tmp_path / "a.eventide"
    content, buffer = left_by_a_killed_process(file)
    file.write_bytes(content)
    return file, bytearray(buffer), struct.unpack_from("<Q", buffer, 64)[0]


@pytest.mark.parametrize("size", [0xFFFF, 40_000])
@pytest.mark.parametrize("way", ["recover", "copy"])
def test_an_entry_that_is_larger_than_its_chunk_ends_the_chunk(
    way: str, size: int, killed: tuple[Path, bytearray, int]
) -> None:
    file, buffer, chunk = killed
    used = struct.unpack_from("<I", buffer, chunk + 8)[0]
    last = max(at for at in range(used) if buffer[chunk + 64 + 32 * at + 12] == 3 and at % 2 == 0)
    struct.pack_into("<H", buffer, chunk + 64 + 32 * last + SIZE, size)
    Path(f"{file}.buffer").write_bytes(buffer)
    if way == "copy":
        to = file.with_name("b.eventide")
        _native.copy_trace(str(file), str(to), "")
        file = to
    else:
        _native.recover_trace(str(file))
    assert len(read(file).things) == last // 2
    trace = et.open_trace(file)
    assert trace.instants.num_rows == last // 2
    assert trace.metadata["account"]["damaged_chunks"] == 0
    assert file.stat().st_size < 10_000


def test_a_copy_keeps_what_follows_an_end_that_is_not_last(tmp_path: Path) -> None:
    file, to = tmp_path / "a.eventide", tmp_path / "b.eventide"
    with et.Recorder(file):
        et.instant("kept")
    whole = file.read_bytes()
    frames, at = [], 12
    while at < len(whole):
        kind, size, _ = struct.unpack_from("<III", whole, at)
        frames.append((kind, whole[at + 12 : at + 12 + size]))
        at += 12 + size
    early = [frames[0], frames[-1], *frames[1:]]  # the end, twice
    _native.copy_trace(str(eventide_file(tmp_path, *early)), str(to), "")
    assert et.open_trace(to).instants.column("name").to_pylist() == ["kept"]
    _native.copy_trace(str(eventide_file(tmp_path, *early[:-1])), str(to), "")
    assert et.open_trace(to).instants.column("name").to_pylist() == ["kept"]


def test_a_head_that_names_a_pipe_as_its_buffer_does_not_block(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    head = f'{{"session": "00", "buffer": "{pipe}"}}'.encode()
    assert not _native.load_trace(str(eventide_file(tmp_path, (HEAD, head)))).columns()["closed"]


def test_one_name_with_a_large_number_takes_no_memory_for_those_before_it(tmp_path: Path) -> None:
    names = b"\x01" + varint(1) + varint(1) + b"a" + b"\x01" + varint(1 << 24) + varint(1) + b"b"
    path = eventide_file(tmp_path, (HEAD, b"{}"), (NAMES, struct.pack("<Q", 0) + names))
    assert texts(_native.load_trace(str(path)).columns()["texts"]) == ["a"]


def test_a_stack_with_a_large_number_takes_no_memory_for_those_before_it(tmp_path: Path) -> None:
    frame = varint(1) + varint(1) + varint(7)
    texts = b"\x01" + varint(1) + varint(1) + b"a"
    stacks = b"".join(b"\x03" + varint(number) + varint(len(frame)) + frame for number in (5, 1 << 26, 1 << 40))
    path = eventide_file(tmp_path, (HEAD, b"{}"), (NAMES, struct.pack("<Q", 0) + texts + stacks))
    tracemalloc.start()
    try:
        trace = et.open_trace(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert trace.stacks.column("frames").to_pylist() == [[{"file": "a", "line": 7, "function": "a"}]] * 2
    assert peak < 50 << 20


def test_times_of_a_perfetto_file_stop_at_the_ends_of_the_clock(tmp_path: Path) -> None:
    thread = field(44, field(1, 7) + field(2, 8) + field(6, LAST))
    complete = field(6, field(2, ord("X")) + field(3, LAST) + field(1, 1))
    trace = opened_packets(
        tmp_path,
        field(13, 1) + thread,
        field(13, 2) + field(11, field(1, LAST) + complete),
        field(13, 2) + field(11, field(16, LAST) + complete),
    )
    assert columns(trace.spans, "start", "duration") == [(LAST, 0), (LAST, 0)]


def test_a_field_of_another_wire_type_is_unknown(tmp_path: Path) -> None:
    name = field(23, "a")
    trace = opened_packets(
        tmp_path,
        field(8, 5) + field(8, "6") + field(11, field(9, 3) + name + field(11, 9)),
        field(8, 7) + field(11, field(9, 3) + name + field(9, "1") + varint(23 << 3) + varint(1)),
    )
    assert columns(trace.instants, "time", "name") == [(5, "a"), (7, "a")]


def test_an_annotation_with_two_values_has_the_last(tmp_path: Path) -> None:
    both = field(10, "x") + field(4, 3) + field(12, field(4, 1)) + field(11, field(10, "y") + field(2, 1))
    trace = opened_packets(
        tmp_path,
        field(8, 1) + field(11, field(9, 3) + field(4, field(10, "x") + field(4, 3) + field(2, 1))),
        field(8, 2) + field(11, field(9, 3) + field(4, both)),
        field(8, 3) + field(11, field(9, 3) + field(4, both + field(6, "z"))),
    )
    assert columns(trace.instants, "args") == [('{"x": true}',), ('{"x": {"y": true}}',), ('{"x": "z"}',)]


def test_a_long_text_that_every_event_repeats_is_omitted_beyond_the_limit(tmp_path: Path) -> None:
    interned = field(12, field(29, field(1, 1) + field(2, "t" * 300_000)))
    event = field(8, 1) + field(13, 2) + field(11, field(9, 3) + field(4, field(10, "x") + field(17, 1)))
    trace = opened_packets(tmp_path, field(13, 1) + interned, *[event] * 200)
    left_out = trace.metadata["account"]["left_out"]
    assert 0 < left_out < 200
    assert sum(args == '{"x": ""}' for (args,) in columns(trace.instants, "args")) == left_out
    assert any("were left out: the file repeats long ones too often" in text for text in trace.metadata["warnings"])


def lane_columns(**other: Any) -> dict[str, Any]:
    given = {"track": np.zeros(3, np.int32), "start": np.arange(3), "duration": np.ones(3, np.int64)}
    return {**given, **other}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("track", np.zeros(3, np.int64), "of type int32, not int64"),
        ("start", np.arange(3, dtype=np.int32), "of type int64, not int32"),
        ("start", np.arange(3, dtype=">i8"), "of type int64, not >i8"),
        ("duration", np.ones(6, np.int64)[::2], "must be a contiguous array of one dimension"),
        ("duration", np.ones((3, 1), np.int64), "must be a contiguous array of one dimension"),
        ("duration", [1, 2, 3], "not <class 'list'>"),
    ],
)
def test_a_column_of_another_type_is_refused(name: str, given: Any, words: str) -> None:
    with pytest.raises(et.UsageTypeError, match=f"{name} .*{words}"):
        _native.assign_lanes(lane_columns(**{name: given}), 1)


@pytest.mark.parametrize("track", [-1, 1, 2**31 - 1])
def test_a_span_on_a_track_that_does_not_exist_is_refused(track: int) -> None:
    tracks = np.array([0, track, 0], np.int32)
    with pytest.raises(et.UsageValueError, match=f"row 1 of spans has track {track}, and there are 1 tracks"):
        _native.assign_lanes(lane_columns(track=tracks), 1)


def test_a_point_on_a_track_that_does_not_exist_is_in_no_span() -> None:
    spans = (np.array([0, -1], np.int32), np.zeros(2, np.int64), np.array([5, LAST]))
    points = (np.array([-1, 0, 7], np.int32), np.ones(3, np.int64), np.ones(3, np.uint8))
    assert _native.enclosing_spans(*spans, *points).tolist() == [-1, 0, -1]


def test_an_array_that_results_are_written_to_is_never_a_copy() -> None:
    start, end = np.zeros(1, np.int64), np.ones(1, np.int64)
    narrow, self_time, times, owner = np.zeros(1, np.int32), end.copy(), np.zeros(3, np.int64), np.zeros(2, np.int64)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.nest_spans(start, end, narrow, self_time, times, owner)
