"""`et.Device`, `et.devices` and capabilities."""

import dataclasses

import pytest

import eventide as et

CAPABILITIES = {
    "deferred",
    "timing",
    "join_timeout",
    "gate",
    "copy",
    "host_visible",
    "concurrent",
    "priorities",
    "default_stream_blocks",
    "heals",
    "clock",
}


def test_the_cpu_is_always_there():
    assert et.Device("cpu", 0) in et.devices()
    assert all(isinstance(device, et.Device) for device in et.devices())


@pytest.mark.parametrize("make", [lambda: et.Device("cpu"), lambda: et.Device("cpu:0"), lambda: et.Device("cpu", 0)])
def test_a_device_has_a_type_an_index_and_a_name(make):
    device = make()
    assert device.type == "cpu"
    assert device.index in (None, 0)
    assert device.name
    assert str(device) == "cpu:0"
    assert device == et.Device("cpu", 0)
    assert hash(device) == hash(et.Device("cpu", 0))


def test_a_device_equals_nothing_else():
    assert et.Device("cpu") != "cpu:0"
    assert et.Device("cpu") != 0
    assert et.Device("cpu") is not None


def test_capabilities_are_a_frozen_dataclass_of_the_names_in_the_design():
    capabilities = et.Device("cpu").capabilities
    assert isinstance(capabilities, et.Capabilities)
    assert {field.name for field in dataclasses.fields(capabilities)} >= CAPABILITIES
    with pytest.raises(dataclasses.FrozenInstanceError):
        capabilities.deferred = False


def test_the_cpu_defers_times_copies_and_heals():
    capabilities = et.Device("cpu").capabilities
    assert (capabilities.deferred, capabilities.timing, capabilities.copy) == (True, True, True)
    assert (capabilities.host_visible, capabilities.concurrent, capabilities.heals) == (True, True, True)


@pytest.mark.parametrize("name", ["gpu", "", "cpu:", "cpu:x", "cpu:-1", "cpu:0:0", ":0", "CPU 0"])
def test_an_unknown_device_is_a_value_error(name):
    with pytest.raises(et.UsageValueError):
        et.Stream(name)


@pytest.mark.parametrize("index", [99, -1])
def test_an_index_that_does_not_exist_is_a_value_error(index):
    with pytest.raises(et.UsageValueError):
        et.Stream(et.Device("cpu", index))


def test_everything_that_takes_a_device_takes_a_name_and_a_device(make_stream):
    for device in ("cpu", "cpu:0", et.Device("cpu"), None):
        assert make_stream(device).device == et.Device("cpu", 0)
        assert et.empty(8, device=device).device == et.Device("cpu", 0)
        assert et.current_stream(device).device == et.Device("cpu", 0)
        et.synchronize(device, timeout=10)
