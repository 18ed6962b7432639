"""A device whose default stream blocks: what that orders is no race, live and from a trace."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import eventide as et
from eventide.sanitizer import check_trace
from eventide.trace import open_trace
from tests.helpers import TIMEOUT
from tests.immediate_device import Prompt


class Legacy(Prompt):
    """Its default stream waits for all others, and they for it"""

    type = "legacy"

    def capabilities(self, index):
        return replace(super().capabilities(index), default_stream_blocks=True)


et.Device.register(Legacy)


@et.work(name="fill", writes="array")
def fill(array):
    array[:] = 1


def both(tmp_path, program, *streams):
    """The kinds of findings, live and stored, which must be the same."""
    path = tmp_path / "run.eventide"
    with et.Recorder(path, stacks=True), et.sanitize() as live:  # waits of one place in the code are one finding
        program(*streams)
    stored = check_trace(open_trace(path))
    assert [f.kind for f in stored] == [f.kind for f in live]
    return [f.kind for f in live]


def one_after_the_other(*streams):
    array = np.zeros(64)
    for stream in streams:
        stream.submit(fill, array)
    for stream in streams:
        stream.synchronize(TIMEOUT)


@pytest.fixture
def member(make_stream):
    return make_stream("legacy")


@pytest.fixture
def other(make_stream):
    return make_stream("legacy")


@pytest.fixture
def default():
    stream = et.default_stream("legacy")
    yield stream
    stream.close(TIMEOUT)


def test_the_default_stream_is_ordered_against_the_others_both_ways(tmp_path, member, other, default):
    assert "race" not in both(tmp_path, one_after_the_other, member, default, other)


def test_two_others_are_not_ordered_by_it(tmp_path, member, other, default):
    assert "race" in both(tmp_path, one_after_the_other, member, other)
    assert "race" in both(tmp_path, one_after_the_other, default, member, other)


def test_streams_that_are_made_later_are_ordered_as_well(tmp_path):
    def program():
        array = np.zeros(64)
        stream = et.Stream("legacy")
        stream.submit(fill, array)
        default = et.default_stream("legacy")  # made now
        default.submit(fill, array)
        late = et.Stream("legacy")
        late.submit(fill, array)
        for each in (stream, default, late):
            each.close(TIMEOUT)

    assert "race" not in both(tmp_path, program)


def test_a_default_stream_that_does_not_block_orders_nothing(tmp_path, stream):
    default = et.default_stream("cpu")
    assert "race" in both(tmp_path, one_after_the_other, stream, default)


def test_a_stored_trace_has_the_device_of_streams_that_existed_before(tmp_path, make_stream):
    def program(first, second):
        array = np.zeros(64)
        first.submit(fill, array)
        et.synchronize(timeout=TIMEOUT)
        second.submit(fill, array)

    assert both(tmp_path, program, make_stream(), make_stream()) == []


@et.work(name="start a thread", writes="array")
def start_a_thread(array):
    thread = threading.Thread(target=array.fill, args=(1,))
    thread.start()
    thread.join(TIMEOUT)


def test_actions_of_other_threads_during_a_submit_hide_no_finding(tmp_path, member, other):
    def program(*streams):
        array = np.zeros(64)
        for stream in streams:  # on such a device work runs inside submit, before the hooks report it
            stream.submit(start_a_thread, array)
        for stream in streams:
            stream.synchronize(TIMEOUT)

    assert both(tmp_path, program, member, other) == ["race"]
