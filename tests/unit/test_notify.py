"""`notify` and the thread that callbacks run on."""

import logging
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, boom, eventually


@pytest.mark.parametrize("state", ["done", "never recorded"])
def test_notify_calls_at_once_on_the_calling_thread_when_nothing_is_pending(stream, state):
    event = et.Event("cpu")
    if state == "done":
        event.record(stream)
        event.synchronize(timeout=TIMEOUT)
    notified: list[tuple[et.Event, int]] = []
    event.notify(lambda done: notified.append((done, threading.get_ident())))
    assert notified == [(event, threading.get_ident())]


def test_notify_binds_to_the_version_recorded_now(stream, other, make_gate):
    first, second = make_gate(), make_gate()
    notified: list[str] = []
    first.hold(stream)
    second.hold(other)
    event = stream.record_event()
    event.notify(lambda _: notified.append("first"))
    event.record(other)
    event.notify(lambda _: notified.append("second"))
    first.open()
    eventually(lambda: notified, "the first notification")
    assert notified == ["first"]  # neither delayed nor doubled by the later record
    second.open()
    eventually(lambda: len(notified) == 2, "the second notification")
    assert notified == ["first", "second"]


def test_several_notifications_of_one_version_come_in_order(stream, gate):
    notified: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    for number in range(5):
        event.notify(lambda _, number=number: notified.append(number))
    gate.open()
    eventually(lambda: len(notified) == 5, "all notifications")
    assert notified == [0, 1, 2, 3, 4]


def test_notify_fires_when_the_marker_fails(stream, gate):
    notified: list[et.Event] = []
    gate.hold(stream, Boom())
    event = stream.record_event()
    event.notify(notified.append)
    gate.open()
    eventually(lambda: notified == [event], "the notification of a failed marker")
    event.notify(notified.append)
    assert notified == [event, event]


def test_a_notification_that_raises_is_logged_and_the_others_come(stream, gate, caplog):
    notified: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    event.notify(lambda _: boom("in notify"))
    event.notify(lambda _: notified.append(1))
    with caplog.at_level(logging.ERROR):
        gate.open()
        eventually(lambda: notified, "the second notification")
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["in notify"]
    assert {record.name.split(".")[0] for record in caplog.records} == {"eventide"}
    assert stream.submit(int, "1").result(TIMEOUT) == 1


def test_a_notification_at_once_that_raises_is_logged_and_notify_returns(caplog):
    with caplog.at_level(logging.ERROR):
        et.Event("cpu").notify(lambda _: boom("at once"))
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["at once"]


def test_a_notification_may_submit_record_wait_and_notify_again(stream, other, gate):
    notified: list[object] = []

    def go_on(event: et.Event) -> None:
        other.wait_event(event)
        future = other.submit(int, "5")
        second = other.record_event()
        second.notify(lambda _: notified.append(future.result()))

    gate.hold(stream)
    stream.record_event().notify(go_on)
    gate.open()
    eventually(lambda: notified, "the second notification")
    assert notified == [5]


BLOCKING = {
    "stream.synchronize": lambda stream, event, future: stream.synchronize(timeout=TIMEOUT),
    "event.synchronize": lambda stream, event, future: event.synchronize(timeout=TIMEOUT),
    "et.synchronize": lambda stream, event, future: et.synchronize("cpu", timeout=TIMEOUT),
    "stream.close": lambda stream, event, future: stream.close(timeout=TIMEOUT),
    "future.result": lambda stream, event, future: future.result(TIMEOUT),
    "future.exception": lambda stream, event, future: future.exception(TIMEOUT),
    "submit to a full stream": lambda stream, event, future: stream.submit(int),
}


def test_all_notifications_run_on_one_thread(make_stream, make_gate):
    notified: list[int] = []
    for _ in range(4):
        stream, gate = make_stream(), make_gate()
        gate.hold(stream).add_done_callback(lambda _: notified.append(threading.get_ident()))
        stream.record_event().notify(lambda _: notified.append(threading.get_ident()))
        gate.open()
    eventually(lambda: len(notified) == 8, "all callbacks")
    assert len(set(notified)) == 1


def test_no_lock_is_held_while_a_notification_runs(stream, gate):
    notified: list[object] = []

    def use_it_elsewhere(event: et.Event) -> None:
        def use() -> object:
            event.record(stream)
            event.synchronize(timeout=TIMEOUT)
            event.notify(lambda _: None)
            return stream.submit(int, "6").result(TIMEOUT)

        notified.append(Background(use).result())

    gate.hold(stream)
    stream.record_event().notify(use_it_elsewhere)
    gate.open()
    eventually(lambda: notified, "the notification")
    assert notified == [6]


def test_a_pending_notification_keeps_its_event_alive(stream, gate):
    notified: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    number = event.event_id
    event.notify(lambda done: notified.append(done.event_id))
    del event
    gate.open()
    eventually(lambda: notified, "the notification")
    assert notified == [number]


@pytest.mark.parametrize("thing", [None, 5, "fn"], ids=repr)
def test_notify_requires_a_callable(stream, thing):
    with pytest.raises(TypeError):
        stream.record_event().notify(thing)
    with pytest.raises(TypeError):
        et.Event("cpu").notify(thing)
