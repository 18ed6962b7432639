"""torch_compat: torch's ten registries, their names, adding, firing by hand, clearing, counting (section 4)."""

from collections.abc import Callable

import pytest

import eventide as et
from tests.helpers import Boom, boom

ARGUMENTS = {
    "event_creation": (1,),
    "event_deletion": (1,),
    "event_record": (1, 2),
    "event_wait": (1, 2),
    "memory_allocation": (4096,),
    "memory_deallocation": (4096,),
    "stream_creation": (2,),
    "device_synchronization": (),
    "stream_synchronization": (2,),
    "event_synchronization": (1,),
}


def registry_of(hook):
    return getattr(et.hooks, "".join(word.title() for word in hook.split("_")) + "Callbacks")


@pytest.fixture(params=ARGUMENTS)
def hook(request):
    return request.param


@pytest.fixture
def registry(hook):
    return registry_of(hook)


def test_fire_callbacks_passes_its_arguments_to_every_callback(hook, registry):
    calls: list[tuple[int, tuple[object, ...]]] = []
    with (
        registry.add_callback(lambda *args: calls.append((1, args))),
        registry.add_callback(lambda *args: calls.append((2, args))),
    ):
        assert registry.fire_callbacks(*ARGUMENTS[hook]) is None
    assert calls == [(1, ARGUMENTS[hook]), (2, ARGUMENTS[hook])]


def test_fire_callbacks_without_callbacks_has_no_effect(hook, registry):
    before = registry.statistics()["errors"]
    assert registry.fire_callbacks(*ARGUMENTS[hook]) is None
    assert registry.statistics()["errors"] == before


def test_the_three_ways_to_register_are_one(hook, registry):
    calls: list[int] = []
    ways = (
        lambda callback: et.hooks.on(hook, callback),
        getattr(et.hooks, f"register_callback_for_{hook}"),
        registry.add_callback,
    )

    def by(number: int) -> Callable[..., None]:  # events of earlier tests may be deleted meanwhile
        return lambda *arguments: calls.append(number) if arguments == ARGUMENTS[hook] else None

    subscriptions = [way(by(number)) for number, way in enumerate(ways)]
    registry.fire_callbacks(*ARGUMENTS[hook])
    for subscription in subscriptions:
        subscription.close()
    registry.fire_callbacks(*ARGUMENTS[hook])
    assert calls == [0, 1, 2]


def test_clear_callbacks_drops_the_callbacks_of_this_registry_only(hook, registry):
    calls: list[str] = []
    neighbour = "event_wait" if hook != "event_wait" else "event_record"
    kept = et.hooks.on(neighbour, lambda *_: calls.append("kept"))
    cleared = et.hooks.on(hook, lambda *_: calls.append("cleared"))
    registry.clear_callbacks()
    assert registry.statistics()["callbacks"] == 0
    registry.fire_callbacks(*ARGUMENTS[hook])
    registry_of(neighbour).fire_callbacks(*ARGUMENTS[neighbour])
    cleared.close()
    kept.close()
    assert calls == ["kept"]


def test_callbacks_can_be_added_after_a_clear(hook, registry):
    calls: list[tuple[object, ...]] = []
    registry.clear_callbacks()
    with registry.add_callback(lambda *args: calls.append(args)):
        registry.fire_callbacks(*ARGUMENTS[hook])
    assert calls == [ARGUMENTS[hook]]


def test_statistics_count_callbacks_firings_and_errors(hook, registry):
    before = registry.statistics()
    quiet = registry.add_callback(lambda *_: None)
    assert registry.statistics()["callbacks"] == before["callbacks"] + 1
    registry.fire_callbacks(*ARGUMENTS[hook])
    registry.fire_callbacks(*ARGUMENTS[hook])
    quiet.close()
    middle = registry.statistics()
    assert middle["callbacks"] == before["callbacks"]
    assert middle["fired"] == before["fired"] + 2
    assert middle["errors"] == before["errors"]
    with registry.add_callback(lambda *_: boom()):
        registry.fire_callbacks(*ARGUMENTS[hook])
    assert registry.statistics()["errors"] == before["errors"] + 1


def test_a_real_action_is_counted_like_fire_callbacks(stream):
    before = et.hooks.EventRecordCallbacks.statistics()
    with et.hooks.on("event_record", lambda *_: None):
        stream.record_event()
        stream.record_event()
    assert et.hooks.EventRecordCallbacks.statistics()["fired"] == before["fired"] + 2


def test_a_callback_written_for_torch_works_unchanged(stream):
    seen: list[int] = []

    class Plain:
        def __call__(self, event: int, stream: int) -> None:
            seen.extend((event, stream))

    with et.hooks.register_callback_for_event_record(Plain()):
        event = stream.record_event()
    assert seen == [event.event_id, stream.stream_id]


def test_fire_callbacks_isolates_errors_as_well(registry, hook, caplog):
    calls: list[int] = []
    with registry.add_callback(lambda *_: boom("by hand")), registry.add_callback(lambda *_: calls.append(1)):
        registry.fire_callbacks(*ARGUMENTS[hook])
    assert calls == [1]
    assert hook in caplog.text
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [Boom]


def test_the_registries_live_in_torch_compat_and_are_importable_from_hooks(hook, registry):
    assert getattr(et.hooks.torch_compat, "".join(word.title() for word in hook.split("_")) + "Callbacks") is registry
    function = f"register_callback_for_{hook}"
    assert getattr(et.hooks.torch_compat, function) is getattr(et.hooks, function)


def test_a_registry_has_the_name_of_its_hook(hook, registry):
    assert registry.name == hook
    assert isinstance(registry, et.hooks.CallbackRegistry)
    with pytest.raises(AttributeError):
        registry.name = "other"


def test_callback_list_has_the_callbacks_in_order_and_no_observers(hook, registry):
    def first(*_): ...
    def second(*_): ...

    before = registry.callback_list
    with (
        registry.add_callback(first),
        et.hooks.observe(type("All", (et.hooks.Observer,), {hook: lambda self, record: None})()),
        et.hooks.on(hook, second, device="cpu"),
        registry.add_callback(first),
    ):
        assert registry.callback_list == (*before, first, second, first)
    assert registry.callback_list == before
    with pytest.raises(AttributeError):
        registry.callback_list = []


def test_callback_list_inside_a_callback_has_the_callbacks_of_now(registry, hook):
    seen: list[int] = []
    before = len(registry.callback_list)

    def once(*_):
        subscription.close()
        seen.append(len(registry.callback_list) - before)

    subscription = registry.add_callback(once)
    registry.fire_callbacks(*ARGUMENTS[hook])
    assert seen == [0]


def test_statistics_exist_for_hooks_without_a_registry(stream):
    before = et.hooks.statistics("work_submission")
    with et.hooks.on("work_submission", lambda *_: None):
        stream.submit(int).result()
        assert et.hooks.statistics("work_submission")["callbacks"] == before["callbacks"] + 1
    assert et.hooks.statistics("work_submission")["fired"] == before["fired"] + 1
    with pytest.raises(et.UsageValueError, match="there is no hook 'work'"):
        et.hooks.statistics("work")


def test_a_hook_accepts_a_device_type_that_was_not_used_before():
    with et.hooks.on("event_record", lambda *_: None, device="sim"):
        pass
    with pytest.raises(et.UsageValueError, match="there is no device type 'nosuch'"):
        et.hooks.on("event_record", lambda *_: None, device="nosuch:0")
