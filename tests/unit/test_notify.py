"""`notify` and the thread that callbacks run on."""

import logging
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, boom, eventually


def test_notify_tells_once_on_the_notifier_thread_with_the_event(stream, gate):
    # known failure 25: no host callback
    told: list[tuple[et.Event, str]] = []
    gate.hold(stream)
    event = stream.record_event()
    event.notify(lambda done: told.append((done, threading.current_thread().name)))
    assert told == []
    gate.open()
    eventually(lambda: told, "the notification")
    event.synchronize(timeout=TIMEOUT)
    assert told == [(event, "eventide-notifier")]


@pytest.mark.parametrize("state", ["done", "never recorded"])
def test_notify_tells_at_once_on_the_calling_thread_when_there_is_nothing_to_wait_for(stream, state):
    event = et.Event("cpu")
    if state == "done":
        event.record(stream)
        event.synchronize(timeout=TIMEOUT)
    told: list[tuple[et.Event, int]] = []
    event.notify(lambda done: told.append((done, threading.get_ident())))
    assert told == [(event, threading.get_ident())]


def test_notify_binds_to_the_version_recorded_now(stream, other, make_gate):
    first, second = make_gate(), make_gate()
    told: list[str] = []
    first.hold(stream)
    second.hold(other)
    event = stream.record_event()
    event.notify(lambda _: told.append("first"))
    event.record(other)
    event.notify(lambda _: told.append("second"))
    first.open()
    eventually(lambda: told, "the first notification")
    assert told == ["first"]  # neither delayed nor doubled by the later record
    second.open()
    eventually(lambda: len(told) == 2, "the second notification")
    assert told == ["first", "second"]


def test_several_notifications_of_one_version_come_in_order(stream, gate):
    told: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    for number in range(5):
        event.notify(lambda _, number=number: told.append(number))
    gate.open()
    eventually(lambda: len(told) == 5, "all notifications")
    assert told == [0, 1, 2, 3, 4]


def test_notify_fires_when_the_marker_fails(stream, gate):
    told: list[et.Event] = []
    gate.hold(stream, Boom())
    event = stream.record_event()
    event.notify(told.append)
    gate.open()
    eventually(lambda: told == [event], "the notification of a failed marker")
    event.notify(told.append)
    assert told == [event, event]


def test_a_notification_that_raises_is_logged_and_the_others_come(stream, gate, caplog):
    told: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    event.notify(lambda _: boom("in notify"))
    event.notify(lambda _: told.append(1))
    with caplog.at_level(logging.ERROR):
        gate.open()
        eventually(lambda: told, "the second notification")
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["in notify"]
    assert {record.name.split(".")[0] for record in caplog.records} == {"eventide"}
    assert stream.submit(int, "1").result(TIMEOUT) == 1


def test_a_notification_at_once_that_raises_is_logged_and_notify_returns(caplog):
    with caplog.at_level(logging.ERROR):
        et.Event("cpu").notify(lambda _: boom("at once"))
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["at once"]


def test_a_notification_may_submit_record_wait_and_notify_again(stream, other, gate):
    told: list[object] = []

    def go_on(event: et.Event) -> None:
        other.wait_event(event)
        future = other.submit(int, "5")
        second = other.record_event()
        second.notify(lambda _: told.append(future.result()))

    gate.hold(stream)
    stream.record_event().notify(go_on)
    gate.open()
    eventually(lambda: told, "the second notification")
    assert told == [5]


BLOCKING = {
    "stream.synchronize": lambda stream, event, future: stream.synchronize(timeout=TIMEOUT),
    "event.synchronize": lambda stream, event, future: event.synchronize(timeout=TIMEOUT),
    "et.synchronize": lambda stream, event, future: et.synchronize("cpu", timeout=TIMEOUT),
    "stream.close": lambda stream, event, future: stream.close(timeout=TIMEOUT),
    "future.result": lambda stream, event, future: future.result(TIMEOUT),
    "future.exception": lambda stream, event, future: future.exception(TIMEOUT),
    "submit to a full stream": lambda stream, event, future: stream.submit(int),
}


@pytest.mark.parametrize("name", BLOCKING)
@pytest.mark.parametrize("where", ["on the notifier", "at once", "in a future's callback"])
def test_a_blocking_call_in_a_callback_is_a_usage_error(make_stream, stream, make_gate, name, where):
    trigger, gate = make_gate(), make_gate()
    busy = make_stream("cpu", max_pending=1)
    gate.hold(busy)
    future = busy.submit(int)
    event = busy.record_event()
    told: list[BaseException | None] = []

    def callback(_: object) -> None:
        try:
            BLOCKING[name](busy, event, future)
        except BaseException as error:
            told.append(error)
        else:
            told.append(None)

    if where == "at once":
        et.Event("cpu").notify(callback)
    elif where == "on the notifier":
        trigger.hold(stream)
        stream.record_event().notify(callback)
    else:
        trigger.hold(stream).add_done_callback(callback)
    trigger.open()
    eventually(lambda: told, "the callback")
    assert isinstance(told[0], et.UsageError)
    assert not busy.closed


def test_all_notifications_run_on_one_thread(make_stream, make_gate):
    told: list[int] = []
    for _ in range(4):
        stream, gate = make_stream(), make_gate()
        gate.hold(stream).add_done_callback(lambda _: told.append(threading.get_ident()))
        stream.record_event().notify(lambda _: told.append(threading.get_ident()))
        gate.open()
    eventually(lambda: len(told) == 8, "all callbacks")
    assert len(set(told)) == 1


def test_no_lock_is_held_while_a_notification_runs(stream, gate):
    told: list[object] = []

    def use_it_elsewhere(event: et.Event) -> None:
        def use() -> object:
            event.record(stream)
            event.synchronize(timeout=TIMEOUT)
            event.notify(lambda _: None)
            return stream.submit(int, "6").result(TIMEOUT)

        told.append(Background(use).result())

    gate.hold(stream)
    stream.record_event().notify(use_it_elsewhere)
    gate.open()
    eventually(lambda: told, "the notification")
    assert told == [6]


def test_a_pending_notification_keeps_its_event_alive(stream, gate):
    told: list[int] = []
    gate.hold(stream)
    event = stream.record_event()
    number = event.event_id
    event.notify(lambda done: told.append(done.event_id))
    del event
    gate.open()
    eventually(lambda: told, "the notification")
    assert told == [number]


@pytest.mark.parametrize("thing", [None, 5, "fn"], ids=repr)
def test_notify_wants_something_to_call(stream, thing):
    with pytest.raises(TypeError):
        stream.record_event().notify(thing)
    with pytest.raises(TypeError):
        et.Event("cpu").notify(thing)
