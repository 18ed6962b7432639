"""Exceptions of failed work that several native objects have, in cycles of the program."""

import gc
import weakref

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, assert_is_freed, boom, eventually


def kept_beside_an_event(stream):
    stream.submit(boom)
    event = stream.record_event()
    try:
        stream.synchronize(TIMEOUT)
    except Boom as error:
        kept = error
    return event.query(), kept is not None


def kept_beside_an_event_of_a_pool(stream):
    stream.submit(boom)
    event = et.EventPool(stream.device).acquire()
    event.record(stream)
    try:
        stream.synchronize(TIMEOUT)
    except Boom as error:
        kept = error
    return event.query(), kept is not None


def kept_beside_a_stream_that_waited(stream):
    other = et.Stream(stream.device)
    failed = stream.submit(boom)
    other.wait_event(stream.record_event())
    skipped, kept = other.submit(int), []
    for future in (failed, skipped):
        try:
            future.result(TIMEOUT)
        except (Boom, et.StreamError) as error:
            kept.append(error)
    return len(kept)


def two_errors_beside_their_events(stream):
    kept, events = [], []
    for _ in range(2):
        stream.submit(boom)
        events.append(stream.record_event())
        try:
            stream.synchronize(TIMEOUT)
        except Boom as error:
            kept.append(error)
    return len(kept), len(events)


def with_the_stream_and_an_event_as_attributes(stream):
    future = stream.submit(boom)
    event = stream.record_event()
    error = future.exception(TIMEOUT)
    stream.query()  # polls the marker of the event
    error.stream, error.event, error.future = stream, event, future


WAYS = [
    kept_beside_an_event,
    kept_beside_an_event_of_a_pool,
    kept_beside_a_stream_that_waited,
    two_errors_beside_their_events,
    with_the_stream_and_an_event_as_attributes,
]


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("way", WAYS)
def test_an_error_that_only_its_own_cycle_keeps_is_freed(way, device):
    def call():
        stream = et.Stream(device)
        way(stream)
        return weakref.ref(stream)

    assert_is_freed(call(), "the stream of a handled error")


def test_frames_go_without_the_collector():
    def call():
        stream = et.Stream("cpu")
        kept_beside_an_event(stream)
        return weakref.ref(stream)

    gc.collect()
    gc.disable()
    try:
        gone = call()
        eventually(lambda: gone() is None, "the stream of a handled error is freed")
    finally:
        gc.enable()


def test_an_error_in_a_cycle_that_the_program_has_keeps_its_traceback_and_its_event_raises_it():
    kept = []

    def call():
        stream = et.Stream("cpu")
        stream.submit(boom)
        event = stream.record_event()
        try:
            stream.synchronize(TIMEOUT)
        except Boom as error:
            kept.append((error, event))

    call()
    other = et.Stream("cpu")
    reference = weakref.ref(other)
    kept_beside_an_event(other)
    del other
    eventually(lambda: reference() is None, "the notifier has searched")
    error, event = kept[0]
    assert error.__traceback__.tb_frame.f_code.co_name == "call"
    with pytest.raises(et.StreamError) as raised:
        event.synchronize(TIMEOUT)
    assert raised.value.__cause__ is error
