"""Clocks that are tied by more than collectives: processes of one host, and messages between two."""

from __future__ import annotations

import os

import numpy as np
import pytest

from eventide import _native
from eventide.errors import DeviceError, UsageValueError
from eventide.jobs._clocks import bound
from eventide.jobs._match import PROVIDES, RECEIVES
from eventide.jobs._ties import _Rows, joined
from eventide.recording import clock_identity
from tests.reference.jobs import matched

EXACT = np.zeros(4, np.int64)
BOTH = PROVIDES | RECEIVES
# Rank 1 is late in each collective and its clock is 700 ahead: by the collectives it is so by 690 to 1710.
ROWS = [(0, 0, 1000, 2010), (1, 0, 2700, 2710), (0, 1, 3000, 4010), (1, 1, 4700, 4710)]


def tied(*ties):
    rows = _Rows()
    for number, members in enumerate(ties):
        rows.add("a tie", f"tie {number}", members)
    found = matched(2, ROWS)
    return found, joined(found, rows)


def test_a_shared_clock_leaves_no_error_although_a_rank_is_always_late():
    found = matched(2, [(0, 0, 1000, 2010), (1, 0, 2000, 2010), (0, 1, 3000, 4010), (1, 1, 4000, 4010)])
    assert bound(found, EXACT[:2], drift=0.0).worst > 400
    rows = _Rows()
    rows.add("the clock of one host", "begin", [(0, 500, BOTH), (1, 500, BOTH)])
    rows.add("the clock of one host", "end", [(0, 9000, BOTH), (1, 9000, BOTH)])
    clocks = bound(found, EXACT[:2], tied=joined(found, rows))
    assert [each.offset for each in clocks.ranks] == [0, 0]
    assert clocks.worst == pytest.approx(0, abs=1e-3)
    assert clocks.start.tolist() == pytest.approx([500, 2500, 1500, 3500])  # since the origin, the begin at 500


def test_a_message_and_its_answer_bound_the_clock_from_both_sides():
    # Sent by rank 0 at 100, received by rank 1 at its 840, answered there at 850, back at 200: 650 to 740.
    question = [(0, 100, PROVIDES), (1, 840, RECEIVES)]
    answer = [(1, 850, PROVIDES), (0, 200, RECEIVES)]
    found, ties = tied(question, answer)
    clocks = bound(found, EXACT[:2], drift=0.0, tied=ties)
    (other,) = (each for each in clocks.ranks if each.rank != clocks.reference)
    sign = 1 if other.rank == 1 else -1
    assert other.half_width == 25  # 690 to 740
    assert sign * other.offset == pytest.approx(715, abs=25)
    assert len(clocks.start) == len(found) == 4  # ties are no collectives


def test_a_message_that_contradicts_the_collectives_is_refused_with_both():
    found, ties = tied([(0, 100, PROVIDES), (1, 10, RECEIVES)])  # at most -90; the collectives: at least 690
    with pytest.raises(UsageValueError, match=r"ranks 0 and 1 do not fit: .* a tie \(tie 0\)"):
        bound(found, EXACT[:2], drift=0.0, tied=ties)


def test_a_server_answers_with_the_times_of_its_clock():
    server = _native.ClockServer("127.0.0.1", "0123456789abcdef")
    begin = _native.now_ns()
    pairs = _native.ask_clock("127.0.0.1", server.port, "0123456789abcdef", 8, 5000)
    assert len(pairs) == 8
    for sent, received, answered, returned in pairs:
        assert begin <= sent <= received <= answered <= returned <= _native.now_ns()
    assert _native.ask_clock("127.0.0.1", server.port, "another secret..", 1, 50) == []  # no answer to a stranger


def test_a_server_ends_with_its_object_and_not_with_that_of_a_forked_child():
    server = _native.ClockServer("127.0.0.1", "0123456789abcdef")
    child = os.fork()
    if not child:
        del server
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    port = server.port
    assert len(_native.ask_clock("127.0.0.1", port, "0123456789abcdef", 1, 5000)) == 1
    del server
    assert _native.ask_clock("127.0.0.1", port, "0123456789abcdef", 1, 50) == []


def test_an_address_of_another_host_is_an_error_that_says_so():
    with pytest.raises(DeviceError, match=r"cannot bind a UDP socket to '192.0.2.1'"):
        _native.ClockServer("192.0.2.1", "0123456789abcdef")
    with pytest.raises(DeviceError, match="cannot resolve the host 'no such host'"):
        _native.ask_clock("no such host", 9, "0123456789abcdef", 1, 50)


def test_processes_of_one_host_have_one_clock():
    assert clock_identity() is not None
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(clock_identity()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() == clock_identity()
    os.close(read)
    os.close(write)
