"""CallbackRegistry(name): a registry of a user's own, which no hook fires."""

import os
import threading

import pytest

import eventide as et
from eventide.hooks import CallbackRegistry
from tests.helpers import Boom, boom


def test_it_has_its_name_and_its_callbacks():
    registry: CallbackRegistry[[int]] = CallbackRegistry("my retries")
    subscription = registry.add_callback(print)
    assert registry.name == "my retries"
    assert registry.callback_list == (print,)
    subscription.close()
    assert registry.callback_list == ()
    assert repr(registry) == "<CallbackRegistry my retries: {'callbacks': 0, 'fired': 0, 'errors': 0}>"


def test_it_passes_all_arguments_in_the_order_of_registration():
    registry, calls = CallbackRegistry("x"), []
    registry.add_callback(lambda *args, **kwargs: calls.append((1, args, kwargs)))
    registry.add_callback(lambda *args, **kwargs: calls.append((2, args, kwargs)))
    registry.fire_callbacks(1, two=2)
    assert calls == [(1, (1,), {"two": 2}), (2, (1,), {"two": 2})]


def test_the_name_of_a_hook_makes_no_registry_of_that_hook(stream):
    registry, calls = CallbackRegistry("event_record"), []
    registry.add_callback(lambda *args: calls.append(args))
    before = et.hooks.statistics("event_record")
    stream.record_event()
    registry.fire_callbacks("mine")
    assert calls == [("mine",)]
    assert et.hooks.statistics("event_record") == before


def test_a_callback_that_raises_is_logged_with_the_name_and_counted(caplog):
    registry, calls = CallbackRegistry("my retries"), []
    registry.add_callback(boom)
    registry.add_callback(lambda: calls.append(1))
    registry.fire_callbacks()
    assert calls == [1]
    assert "a my retries callback raised" in caplog.text
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [Boom]
    assert registry.statistics() == {"callbacks": 2, "fired": 1, "errors": 1}


def test_an_interrupt_in_a_callback_propagates():
    def interrupt():
        raise KeyboardInterrupt

    registry, calls = CallbackRegistry("x"), []
    registry.add_callback(interrupt)
    registry.add_callback(lambda: calls.append(1))
    with pytest.raises(KeyboardInterrupt):
        registry.fire_callbacks()
    assert calls == []


def test_a_change_from_inside_a_callback_takes_effect_at_the_next_firing():
    registry, calls = CallbackRegistry("x"), []

    def first():
        calls.append("first")
        registry.clear_callbacks()
        registry.add_callback(lambda: calls.append("added"))

    registry.add_callback(first)
    registry.add_callback(lambda: calls.append("second"))
    registry.fire_callbacks()
    assert calls == ["first", "second"]
    registry.fire_callbacks()
    assert calls == ["first", "second", "added"]


def test_a_subscription_that_outlives_a_clear_closes_without_effect():
    registry = CallbackRegistry("x")
    old = registry.add_callback(print)
    registry.clear_callbacks()
    registry.add_callback(len)
    old.close()
    assert registry.callback_list == (len,)


def test_threads_add_fire_and_close_at_the_same_time():
    registry, calls = CallbackRegistry("x"), []

    def use():
        for _ in range(500):
            with registry.add_callback(lambda: calls.append(1)):
                registry.fire_callbacks()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.statistics() == {"callbacks": 0, "fired": 2000, "errors": 0}
    assert len(calls) >= 2000


def test_a_subclass_extends_it():
    class Loud(CallbackRegistry[[]]):
        def fire_callbacks(self):
            calls.append(self.name)
            super().fire_callbacks()

    calls: list[str] = []
    registry = Loud("x")
    registry.add_callback(lambda: calls.append("called"))
    registry.fire_callbacks()
    assert calls == ["x", "called"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_keeps_its_callbacks_though_a_thread_was_counting():
    from eventide.hooks import torch_compat

    registry = CallbackRegistry("x")
    registry.add_callback(lambda: None)
    with torch_compat._lock:
        child = os.fork()
        if child == 0:
            registry.fire_callbacks()
            os._exit(registry.statistics()["fired"] + 40)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 41


@pytest.mark.parametrize("name", [None, 3, b"x"])
def test_a_name_that_is_no_string_is_a_type_error(name):
    with pytest.raises(et.UsageTypeError, match="a CallbackRegistry is named by a string, not"):
        CallbackRegistry(name)


def test_a_callback_that_is_not_callable_is_a_type_error():
    with pytest.raises(et.UsageTypeError, match="a callback of x must be callable, not int"):
        CallbackRegistry("x").add_callback(3)
