"""Two works that race on several buffers are one finding, with each buffer and range."""

import numpy as np

import eventide as et
from eventide.sanitizer import Piece, finding_from_json, findings_to_json


def test_a_pair_that_races_on_three_buffers_is_one_finding_that_counts_their_bytes(stream, other):
    arrays = [np.zeros(64, np.uint8) for _ in range(3)]
    with et.sanitize() as findings:
        stream.submit(et.work(int, name="fill", writes=arrays))
        other.submit(et.work(int, name="total", reads=arrays))
    (race,) = findings
    assert (race.first.nbytes, race.second.nbytes) == (192, 192)
    starts = sorted(array.ctypes.data for array in arrays)
    assert sorted(piece.address for piece in race.pieces) == starts
    assert {(piece.nbytes, piece.first_writes, piece.second_writes) for piece in race.pieces} == {(64, True, False)}
    text = str(findings)
    assert "'total' on stream" in text and "reads 192 bytes that 'fill'" in text
    assert text.count("bytes 0 to 64 of the memory at 0x") == 3
    (item,) = findings_to_json(findings.result)["findings"]
    assert finding_from_json(item).pieces == race.pieces


def test_ranges_with_another_kind_of_access_say_which(stream, other):
    x, y = et.empty(64), et.empty(64)
    with et.sanitize() as findings:
        stream.submit(et.work(int, name="step", reads=x, writes=y))
        other.submit(et.work(int, name="save", reads=y, writes=x))
    (race,) = findings
    assert race.pieces[0] == Piece(race.pieces[0].address, 64, race.pieces[0].buffer, "", True, False)
    assert {(piece.first_writes, piece.second_writes) for piece in race.pieces} == {(True, False), (False, True)}
    assert ": written by the first, read by the second" in str(findings)


def test_many_ranges_are_counted_and_the_first_are_shown(stream, other):
    rows = np.zeros((200, 64), np.uint8)
    some = [rows[n] for n in range(0, 200, 2)]
    with et.sanitize() as findings:
        stream.submit(et.work(int, writes=some))
        other.submit(et.work(int, writes=some))
    (race,) = findings
    assert (race.second.nbytes, len(race.pieces)) == (6400, 64)
    assert "and 5,888 bytes more" in str(findings)


def test_views_with_other_strides_meet_for_certain_or_not_at_all(stream, other):
    array = np.zeros(100)
    with et.sanitize() as findings:
        stream.submit(et.work(int, writes=array[::3]))
        other.submit(et.work(int, writes=array[::2]))
    assert [(f.kind, f.certainty) for f in findings] == [("race", "certain")]
    with et.sanitize() as findings:
        stream.submit(et.work(int, writes=array[::4]))
        other.submit(et.work(int, writes=array[1::6]))  # 4i is even, 6i + 1 is odd
    assert list(findings) == []
