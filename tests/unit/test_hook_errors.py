"""Callbacks that raise, that do device work themselves, and that interrupt the program (section 4, rules 2 and 3)."""

import logging
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Gate, blocked_in, boom, hook_calls


def test_a_callback_that_raises_is_logged_and_counted_and_the_others_run(stream, caplog):
    before = et.hooks.EventRecordCallbacks.statistics()["errors"]
    with et.hooks.on("event_record", lambda *_: boom("in a hook")), hook_calls("event_record") as calls:
        event = stream.record_event()
    assert calls == [(event.event_id, stream.stream_id)]
    assert et.hooks.EventRecordCallbacks.statistics()["errors"] == before + 1
    (record,) = [record for record in caplog.records if record.name == "eventide.hooks"]
    assert record.levelno >= logging.ERROR
    assert "event_record" in record.getMessage()
    assert str(record.exc_info[1]) == "in a hook"
    event.synchronize(timeout=TIMEOUT)


def test_a_callback_with_the_wrong_number_of_arguments_is_logged_like_any_error(stream, caplog):
    with et.hooks.on("event_record", lambda: None):
        stream.record_event()
    assert "event_record" in caplog.text
    assert "TypeError" in caplog.text


@pytest.mark.parametrize(
    ("hook", "act"),
    [
        ("event_creation", lambda stream: stream.record_event().query()),
        ("event_wait", lambda stream: stream.wait_event(stream.record_event())),
        ("stream_creation", lambda stream: et.Stream("cpu").close(timeout=TIMEOUT)),
        ("stream_synchronization", lambda stream: stream.synchronize(timeout=TIMEOUT)),
        ("event_synchronization", lambda stream: stream.record_event().synchronize(timeout=TIMEOUT)),
        ("device_synchronization", lambda stream: et.synchronize("cpu", timeout=TIMEOUT)),
        ("memory_allocation", lambda stream: et.empty(8, device="cpu")),
        ("memory_deallocation", lambda stream: et.empty(8, device="cpu").free()),
        ("work_submission", lambda stream: stream.submit(int).result(TIMEOUT)),
        ("work_completion", lambda stream: (stream.submit(int).result(TIMEOUT), stream.close(timeout=TIMEOUT))),
        ("event_deletion", lambda stream: [stream.record_event()].clear()),
    ],
)
def test_no_verb_is_broken_by_a_callback_that_raises(stream, caplog, hook, act):
    with et.hooks.on(hook, lambda *_: boom(f"in {hook}")):
        act(stream)
    assert f"in {hook}" in caplog.text


def test_a_callback_that_does_device_work_does_not_fire_itself(stream):
    calls: list[int] = []

    def work(event: int, queue: int) -> None:
        calls.append(event)
        stream.record_event()

    with et.hooks.on("event_record", work):
        event = stream.record_event()
    assert calls == [event.event_id]


def test_fire_callbacks_inside_a_callback_has_no_effect():
    calls: list[tuple[int, int]] = []
    registry = et.hooks.EventRecordCallbacks

    def again(event: int, queue: int) -> None:
        calls.append((event, queue))
        registry.fire_callbacks(3, 4)

    with et.hooks.on("event_record", again):
        registry.fire_callbacks(1, 2)
    assert calls == [(1, 2)]


def test_no_other_python_callback_fires_on_that_thread_meanwhile(stream, make_stream):
    with hook_calls("stream_creation") as created, et.hooks.on("event_record", lambda *_: make_stream()):
        stream.record_event()
        assert created == []
        make_stream()
    assert len(created) == 1


def test_callbacks_fire_on_other_threads_while_one_runs(make_stream):
    gate = Gate()
    calls: list[str] = []
    slow, quick = make_stream(), make_stream()

    def listen(event: int, queue: int) -> None:
        calls.append("slow" if queue == slow.stream_id else "quick")
        if queue == slow.stream_id:
            gate()

    with et.hooks.on("event_record", listen):
        thread = Background(slow.record_event)
        gate.reached()
        quick.record_event()
        assert calls == ["slow", "quick"]
        gate.open()
        thread.result()


def test_a_thread_fires_again_after_a_callback_raised(stream):
    with et.hooks.on("event_record", lambda *_: boom()), hook_calls("event_record") as calls:
        stream.record_event()
        stream.record_event()
    assert len(calls) == 2


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    ("hook", "act"),
    [
        ("event_record", lambda stream: stream.record_event()),
        ("event_wait", lambda stream: stream.wait_event(stream.record_event())),
        ("stream_synchronization", lambda stream: stream.synchronize(timeout=TIMEOUT)),
        ("work_submission", lambda stream: stream.submit(int)),
        ("memory_allocation", lambda stream: et.empty(8, device="cpu")),
        ("stream_creation", lambda stream: et.Stream("cpu")),
    ],
)
def test_an_interrupt_passes_through_the_verb_on_the_calling_thread(stream, caplog, kind, hook, act):
    def interrupt(*_: object) -> None:
        raise kind("from a callback")

    with et.hooks.on(hook, interrupt), pytest.raises(kind, match="from a callback"):
        act(stream)
    assert caplog.records == []
    assert stream.submit(int, "3").result(TIMEOUT) == 3
    with hook_calls(hook) as calls:
        if hook == "event_record":
            stream.record_event()
            assert len(calls) == 1  # the thread is not left inside a callback


def test_an_interrupt_passes_through_fire_callbacks():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with et.hooks.on("event_record", interrupt), pytest.raises(KeyboardInterrupt):
        et.hooks.EventRecordCallbacks.fire_callbacks(1, 2)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_on_a_worker_goes_to_the_main_thread(stream, gate, kind):
    assert threading.current_thread() is threading.main_thread()

    def interrupt(*_: int) -> None:
        raise kind

    main_waits = threading.Event()
    gate.hold(stream)
    opener = blocked_in(lambda: main_waits.wait(TIMEOUT) and gate.open())
    with et.hooks.on("work_completion", interrupt), pytest.raises(kind):
        main_waits.set()
        stream.synchronize(timeout=TIMEOUT)
        threading.Event().wait(TIMEOUT)  # where the interrupt finds the main thread if the stream was quicker
    opener.result()
    assert stream.submit(int, "4").result(TIMEOUT) == 4
