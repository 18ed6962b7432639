"""`max_pending`: submit blocks while that many are queued; None is unbounded."""

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, blocked_in, root_cause


def test_without_a_limit_submit_never_blocks(stream, gate):
    gate.hold(stream)
    futures = [stream.submit(int) for _ in range(2000)]
    assert stream.pending == 2000
    gate.open()
    assert all(future.result(TIMEOUT) == 0 for future in futures)
    assert stream.pending == 0


def test_pending_counts_what_is_queued_and_not_what_runs(stream, gate):
    assert stream.pending == 0
    gate.hold(stream)
    assert stream.pending == 0
    source, target = bytearray(b"new"), bytearray(3)
    stream.submit(int)
    stream.copy(target, source)
    assert stream.pending == 2


def test_submit_blocks_while_the_stream_is_full_and_returns_when_it_is_not(make_stream, gate):
    stream = make_stream("cpu", max_pending=2)
    gate.hold(stream)
    stream.submit(int)
    stream.submit(int)
    submitter = blocked_in(lambda: stream.submit(int, "3"))
    assert not submitter.ended
    assert stream.pending == 2
    gate.open()
    assert submitter.result().result(TIMEOUT) == 3


def test_all_blocked_submitters_return(make_stream, gate):
    stream = make_stream("cpu", max_pending=1)
    gate.hold(stream)
    stream.submit(int)
    submitters = [blocked_in(lambda number=number: stream.submit(int, number)) for number in range(4)]
    assert not any(submitter.ended for submitter in submitters)
    gate.open()
    assert sorted(submitter.result().result(TIMEOUT) for submitter in submitters) == [0, 1, 2, 3]


def test_the_limit_applies_to_copies_and_native_work(make_stream, gate):
    stream = make_stream("cpu", max_pending=1)
    gate.hold(stream)
    stream.submit(int)
    target = bytearray(3)
    copier = blocked_in(lambda: stream.copy(target, b"new"))
    assert not copier.ended
    gate.open()
    copier.result().result(TIMEOUT)
    assert target == b"new"


def test_a_submitter_that_waits_is_reported_when_the_stream_fails(make_stream, gate):
    stream = make_stream("cpu", max_pending=1)
    error = Boom("first")
    gate.hold(stream, error)
    stream.submit(int)
    submitter = blocked_in(lambda: stream.submit(int))
    gate.open()
    refusal = submitter.result().exception(TIMEOUT)
    assert isinstance(refusal, et.StreamError)
    assert root_cause(refusal) is error


def test_another_stream_is_free_while_one_is_full(make_stream, other, gate):
    stream = make_stream("cpu", max_pending=1)
    gate.hold(stream)
    stream.submit(int)
    submitter = blocked_in(lambda: stream.submit(int))
    assert other.submit(int, "7").result(TIMEOUT) == 7
    assert not submitter.ended
    gate.open()
    submitter.result()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_value_error(limit):
    with pytest.raises(et.UsageValueError, match="max_pending"):
        et.Stream("cpu", max_pending=limit)


@pytest.mark.parametrize("limit", ["3", 1.5, []], ids=repr)
def test_a_limit_that_is_not_an_integer_is_a_type_error(limit):
    with pytest.raises(TypeError):
        et.Stream("cpu", max_pending=limit)
