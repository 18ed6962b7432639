"""The current stream: per thread, re-entrant, put back whatever happens."""

import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom


def test_the_default_stream_is_current_at_first():
    assert et.current_stream() == et.default_stream("cpu")
    assert et.current_stream("cpu") == et.current_stream(et.Device("cpu")) == et.default_stream()


def test_with_is_reentrant(stream, other):
    before = et.current_stream()
    with stream, stream:
        with other, stream:
            assert et.current_stream() == stream
        assert et.current_stream() == stream
        with stream:
            pass
        assert et.current_stream() == stream
    assert et.current_stream() == before


def test_an_error_in_the_block_propagates_and_the_previous_stream_is_restored(stream):
    before = et.current_stream()
    with pytest.raises(Boom), stream:
        raise Boom
    assert et.current_stream() == before


def test_two_threads_in_one_stream_do_not_restore_each_other(stream, make_stream):
    turns = [threading.Event() for _ in range(3)]
    before = [make_stream(), make_stream()]

    def first():
        with before[0]:
            with stream:
                turns[0].set()
                assert turns[1].wait(TIMEOUT)
            return et.current_stream()

    def second():
        with before[1]:
            assert turns[0].wait(TIMEOUT)
            with stream:
                turns[1].set()
                assert turns[2].wait(TIMEOUT)
            return et.current_stream()

    threads = [Background(first), Background(second)]
    assert threads[0].result() == before[0]
    turns[2].set()
    assert threads[1].result() == before[1]


def test_set_stream_makes_a_stream_current_until_it_is_set_again(stream):
    def use():
        et.set_stream(stream)
        inside = et.current_stream()
        et.set_stream(et.default_stream("cpu"))
        return inside, et.current_stream()

    assert Background(use).result() == (stream, et.default_stream("cpu"))


def test_set_stream_takes_effect_at_once_inside_of_with_too(stream, other):
    def use():
        with stream:
            et.set_stream(other)
            return et.current_stream()

    assert Background(use).result() == other


def test_with_restores_the_stream_that_set_stream_made_current(stream, other):
    def use():
        et.set_stream(stream)
        with other:
            pass
        return et.current_stream()

    assert Background(use).result() == stream


def test_the_current_stream_is_the_one_that_was_entered_not_a_copy(stream):
    with stream:
        assert et.current_stream() is stream


def test_inside_work_with_changes_the_current_stream_for_that_work_only(stream, other):
    def work():
        with other:
            inside = et.current_stream()
        return inside, et.current_stream()

    assert stream.submit(work).result(TIMEOUT) == (other, stream)


def test_set_stream_inside_work_does_not_outlive_it(stream, other):
    stream.submit(et.set_stream, other).result(TIMEOUT)
    assert stream.submit(et.current_stream).result(TIMEOUT) == stream


def test_a_stream_without_a_device_is_on_the_current_one(make_stream, stream):
    with stream:
        assert make_stream(None).device == stream.device


@pytest.mark.parametrize("thing", [None, 5, "cpu"], ids=repr)
def test_set_stream_requires_a_stream(thing):
    before = et.current_stream()
    with pytest.raises(TypeError):
        et.set_stream(thing)
    assert et.current_stream() == before


@pytest.mark.parametrize("function", [et.current_stream, et.default_stream, et.synchronize])
@pytest.mark.parametrize("device", [5, 1.5, []], ids=repr)
def test_a_device_of_the_wrong_type_is_a_type_error(function, device):
    with pytest.raises(TypeError):
        function(device)
