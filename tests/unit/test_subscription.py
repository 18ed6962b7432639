"""Subscriptions close in any order and firing walks a snapshot (section 4, rules 1 and 3)."""

import gc
import weakref

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, hook_calls


def test_nothing_is_reported_after_a_close(stream):
    calls: list[tuple[int, int]] = []
    subscription = et.hooks.on("event_record", lambda *args: calls.append(args))
    stream.record_event()
    assert subscription.closed is False
    subscription.close()
    assert subscription.closed is True
    stream.record_event()
    assert len(calls) == 1


def test_closing_twice_has_no_effect(stream):
    with hook_calls("event_record") as calls:
        subscription = et.hooks.on("event_record", lambda *_: None)
        subscription.close()
        subscription.close()
        stream.record_event()
    assert len(calls) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_subscriptions_close_in_any_order(stream, order):
    calls: list[int] = []
    subscriptions = [et.hooks.on("event_record", lambda *_, n=n: calls.append(n)) for n in range(3)]
    left = [0, 1, 2]
    for closing in order:
        subscriptions[closing].close()
        left.remove(closing)
        calls.clear()
        stream.record_event()
        assert calls == left


def test_a_subscription_is_a_context_manager_that_hides_no_error(stream):
    calls: list[int] = []
    with pytest.raises(Boom), et.hooks.on("event_record", lambda *_: calls.append(1)) as subscription:
        stream.record_event()
        raise Boom
    stream.record_event()
    assert calls == [1]
    assert subscription.closed


def test_the_same_function_twice_is_two_subscriptions(stream):
    calls: list[int] = []

    def listen(*_: int) -> None:
        calls.append(1)

    first, second = et.hooks.on("event_record", listen), et.hooks.on("event_record", listen)
    stream.record_event()
    assert len(calls) == 2
    second.close()
    second.close()
    stream.record_event()
    assert len(calls) == 3
    first.close()


def test_a_temporary_subscription_does_not_drop_a_permanent_one(stream):
    calls: list[int] = []

    def listen(*_: int) -> None:
        calls.append(1)

    with et.hooks.on("event_record", listen):
        with et.hooks.on("event_record", listen):
            pass
        stream.record_event()
    assert calls == [1]


def test_a_subscription_without_a_reference_stays_active(stream):
    calls: list[int] = []
    et.hooks.register_callback_for_event_record(lambda *_: calls.append(1))
    gc.collect()
    stream.record_event()
    et.hooks.EventRecordCallbacks.clear_callbacks()
    assert calls == [1]


def test_a_subscription_may_be_closed_from_another_thread(stream):
    calls: list[int] = []
    subscription = et.hooks.on("event_record", lambda *_: calls.append(1))
    Background(subscription.close).result()
    stream.record_event()
    assert calls == []


def test_a_closed_subscription_releases_its_callback():
    class Listener:
        def __call__(self, *_: int) -> None: ...

    listener = Listener()
    reference = weakref.ref(listener)
    subscription = et.hooks.on("event_record", listener)
    del listener
    gc.collect()
    assert reference() is not None
    subscription.close()
    gc.collect()
    assert reference() is None


def test_a_callback_added_while_firing_is_reported_from_the_next_firing_on(stream):
    calls: list[str] = []
    added: list[et.hooks.Subscription] = []

    def again(*_: int) -> None:
        calls.append("again")
        added.append(et.hooks.on("event_record", again))

    with et.hooks.on("event_record", again):
        stream.record_event()
        assert calls == ["again"]
        stream.record_event()
        assert calls == ["again"] * 3
    for subscription in added:
        subscription.close()


def test_a_callback_that_removes_itself_does_not_skip_the_next_one(stream):
    calls: list[str] = []
    subscriptions: list[et.hooks.Subscription] = []

    def once(*_: int) -> None:
        calls.append("once")
        subscriptions[0].close()

    subscriptions.append(et.hooks.on("event_record", once))
    with et.hooks.on("event_record", lambda *_: calls.append("always")):
        stream.record_event()
        stream.record_event()
    assert calls == ["once", "always", "always"]


def test_a_callback_removed_while_firing_is_still_called_this_time(stream):
    calls: list[str] = []
    subscriptions: list[et.hooks.Subscription] = []

    def remove_the_next(*_: int) -> None:
        calls.append("first")
        subscriptions[0].close()

    with et.hooks.on("event_record", remove_the_next):
        subscriptions.append(et.hooks.on("event_record", lambda *_: calls.append("second")))
        stream.record_event()
        stream.record_event()
    assert calls == ["first", "second", "first"]


def test_clearing_while_firing_takes_effect_at_the_next_firing(stream):
    calls: list[str] = []

    def clear(*_: int) -> None:
        calls.append("clear")
        et.hooks.EventRecordCallbacks.clear_callbacks()

    with et.hooks.on("event_record", clear), et.hooks.on("event_record", lambda *_: calls.append("second")):
        stream.record_event()
        stream.record_event()
    assert calls == ["clear", "second"]


@pytest.mark.parametrize("name", ["event_recorded", "", "EventRecord", "record"])
def test_an_unknown_hook_is_a_value_error(name):
    with pytest.raises(et.UsageValueError, match="event_record"):
        et.hooks.on(name, print)


def test_a_hook_that_is_not_a_name_or_a_callback_that_is_not_callable_is_a_type_error(stream):
    with pytest.raises(TypeError):
        et.hooks.on(5, print)  # type: ignore[arg-type]
    for thing in (None, 5, "print"):
        with pytest.raises(TypeError):
            et.hooks.on("event_record", thing)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            et.hooks.EventRecordCallbacks.add_callback(thing)  # type: ignore[arg-type]
    assert stream.record_event().synchronize(timeout=TIMEOUT) is None


@pytest.mark.parametrize("device", ["cpu", "cpu:0", et.Device("cpu")], ids=str)
def test_a_callback_may_listen_to_one_device_only(stream, device):
    with hook_calls("event_record", device=device) as calls:
        event = stream.record_event()
    assert calls == [(event.event_id, stream.stream_id)]


def test_a_callback_cannot_listen_to_a_device_that_does_not_exist():
    with pytest.raises(et.UsageValueError, match=r"gpu.*cpu"):
        et.hooks.on("event_record", print, device="gpu")
    with pytest.raises(TypeError):
        et.hooks.on("event_record", print, device=5)  # type: ignore[arg-type]
