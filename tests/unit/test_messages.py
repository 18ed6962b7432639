"""The wording of errors: what, where, the value, the remedy."""

import re

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom


def message_of(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def assert_says(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text, re.IGNORECASE), f"{pattern!r} is missing in: {text}"


WRONG_TYPES = {
    "wait_event": (lambda stream: stream.wait_event(5), "Event", "int"),
    "wait_stream": (lambda stream: stream.wait_stream("x"), "Stream", "str"),
    "record_event": (lambda stream: stream.record_event([]), "Event", "list"),
    "record": (lambda stream: et.Event("cpu").record("x"), "Stream", "str"),
    "wait": (lambda stream: stream.record_event().wait(5), "Stream", "int"),
    "elapsed_time": (lambda stream: stream.record_event().elapsed_time(5), "Event", "int"),
    "set_stream": (lambda stream: et.set_stream(5), "Stream", "int"),
    "notify": (lambda stream: stream.record_event().notify(5), "call", "int"),
    "submit": (lambda stream: stream.submit(5), "call", "int"),
    "hooks.on": (lambda stream: et.hooks.on("event_record", 5), "call", "int"),
    "Stream": (lambda stream: et.Stream(5), "device", "int"),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_wrong_type_names_what_was_given_and_what_was_expected(stream, name):
    call, expected, given = WRONG_TYPES[name]
    with pytest.raises(et.UsageTypeError) as caught:
        call(stream)
    assert_says(str(caught.value), expected, rf"\b{given}\b")


def test_an_unknown_device_lists_the_valid_ones():
    for call in (lambda: et.Stream("gpu"), lambda: et.Device("gpu"), lambda: et.empty(8, device="gpu")):
        assert_says(message_of(et.UsageValueError, call), "gpu", r"\bcpu\b")


def test_a_device_index_that_does_not_exist_is_reported():
    assert_says(message_of(et.UsageValueError, lambda: et.Stream("cpu:99")), "99", "cpu")


def test_a_closed_stream_names_which_one_and_what_to_do(make_stream):
    stream = make_stream("cpu", name="uploads")
    stream.close(timeout=TIMEOUT)
    text = message_of(et.StreamError, lambda: stream.submit(int))
    assert_says(text, "closed", rf"stream {stream.stream_id} 'uploads'", "make a new one")


def test_skipped_work_names_the_stream_the_first_error_and_how_to_heal(make_stream, gate):
    stream = make_stream("cpu", name="uploads")
    gate.hold(stream, Boom("disk full"))
    skipped = stream.submit(int)
    gate.open()
    text = str(skipped.exception(TIMEOUT))
    assert_says(text, rf"stream {stream.stream_id} 'uploads'", "Boom: disk full", "synchronize")


def test_a_failed_event_names_its_id_and_the_first_error(stream, gate):
    gate.hold(stream, Boom("disk full"))
    event = stream.record_event()
    gate.open()
    text = message_of(et.StreamError, lambda: event.synchronize(timeout=TIMEOUT))
    assert_says(text, rf"event {event.event_id}\b", "Boom: disk full")


def test_a_timeout_names_what_was_waited_for_and_how_long(make_stream, gate):
    stream = make_stream("cpu", name="uploads")
    gate.hold(stream)
    event = stream.record_event()
    text = message_of(TimeoutError, lambda: stream.synchronize(timeout=0.001))
    assert_says(text, rf"stream {stream.stream_id} 'uploads'", r"after [\d.e-]+ ?s")
    text = message_of(TimeoutError, lambda: event.synchronize(timeout=0.001))
    assert_says(text, rf"event {event.event_id}\b", r"after [\d.e-]+ ?s")
    assert_says(message_of(TimeoutError, lambda: et.synchronize("cpu", timeout=0)), "cpu")


def test_a_deadlock_names_every_stream_and_event_in_the_cycle(make_stream, gate):
    first, second = make_stream("cpu", name="left"), make_stream("cpu", name="right")
    box = []

    def work():
        gate()
        return message_of(et.DeadlockError, lambda: box[0].result(TIMEOUT))

    outcome = first.submit(work)
    event = first.record_event()
    second.wait_event(event)
    box.append(second.submit(int))
    gate.open()
    text = outcome.result(TIMEOUT)
    names = (rf"stream {first.stream_id} 'left'", rf"stream {second.stream_id} 'right'", rf"event {event.event_id}\b")
    assert_says(text, *names)


def test_a_full_own_stream_names_the_limit(make_stream):
    stream = make_stream("cpu", max_pending=1)

    def work():
        stream.submit(int)
        return message_of(et.DeadlockError, lambda: stream.submit(int))

    assert_says(stream.submit(work).result(TIMEOUT), "max_pending", r"\b1\b", rf"\b{stream.stream_id}\b")


def test_a_blocking_call_in_a_callback_names_the_remedy(stream, gate):
    gate.hold(stream)
    seen: list[str] = []
    et.Event("cpu").notify(lambda _: seen.append(message_of(et.UsageError, stream.synchronize)))
    assert_says(seen[0], "synchronize", "callback", "block")


def test_elapsed_time_too_early_names_the_remedy(stream, gate):
    event = et.Event("cpu", enable_timing=True)
    assert_says(message_of(et.UsageValueError, lambda: event.elapsed_time(event)), "recorded", "record")
    gate.hold(stream)
    event.record(stream)
    assert_says(message_of(RuntimeError, lambda: event.elapsed_time(event)), "synchronize", rf"\b{event.event_id}\b")


def test_an_unknown_id_of_a_pool_names_the_id(pool):
    assert_says(message_of(et.EventError, lambda: pool.query(987654)), "987654", "acquire|release|pool")


def test_an_unknown_hook_lists_the_valid_ones():
    text = message_of(et.UsageValueError, lambda: et.hooks.on("event_recrod", print))
    assert_says(text, "event_recrod", "event_record", "work_submission")


def test_use_after_free_is_reported():
    buffer = et.empty(8, device="cpu")
    buffer.free()
    assert_says(message_of(et.UsageError, lambda: memoryview(buffer)), "free", "buffer")


def test_sizes_that_differ_are_both_named(stream):
    assert_says(message_of(et.UsageValueError, lambda: stream.copy(bytearray(5), b"abc")), r"\b5\b", r"\b3\b")


def test_a_stream_left_in_the_wrong_order_is_reported(make_stream):
    first, second = make_stream("cpu", name="left"), make_stream("cpu", name="right")
    first.__enter__()
    second.__enter__()
    text = message_of(et.UsageError, lambda: first.__exit__(None, None, None))
    second.__exit__(None, None, None)
    assert et.current_stream("cpu") == et.default_stream("cpu")
    assert_says(text, rf"stream {first.stream_id} 'left'", rf"stream {second.stream_id} 'right'")


def test_a_future_made_by_hand_is_reported_where_futures_come_from():
    assert_says(message_of(et.UsageError, et.Future), "Future", "submit")
