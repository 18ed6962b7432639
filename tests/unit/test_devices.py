"""`et.Device`, `et.devices` and capabilities."""

import dataclasses
import subprocess
import sys
import textwrap

import pytest

import eventide as et
from eventide.backends.registry import BACKENDS
from tests.immediate_device import Prompt

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


def test_the_cpu_is_always_listed():
    assert et.Device("cpu", 0) in et.devices()
    assert all(isinstance(device, et.Device) for device in et.devices())


@pytest.mark.parametrize("make", [lambda: et.Device("cpu"), lambda: et.Device("cpu:0"), lambda: et.Device("cpu", 0)])
def test_a_device_has_a_type_and_a_name(make):
    device = make()
    assert device.type == "cpu"
    assert device.name == "host threads"
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
    assert {field.name for field in dataclasses.fields(capabilities)} == CAPABILITIES
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


def test_everything_that_takes_a_device_takes_a_name_and_a_device(make_stream):
    for device in ("cpu", "cpu:0", et.Device("cpu"), None):
        assert make_stream(device).device == et.Device("cpu", 0)
        assert et.empty(8, device=device).device == et.Device("cpu", 0)
        assert et.current_stream(device).device == et.Device("cpu", 0)
        et.synchronize(device, timeout=10)


def test_a_hook_accepts_a_device_that_was_not_used_yet():
    program = """
        import eventide as et
        made = []
        with et.hooks.on("stream_creation", made.append, device="sim"), et.hooks.on(
            "stream_creation", made.append, device="sim:0"
        ):
            et.Stream("cpu")
            stream = et.Stream("sim")
        assert made == [stream.stream_id] * 2, made
        try:
            et.hooks.on("stream_creation", print, device="nonsense")
        except et.UsageValueError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("there is no device type 'nonsense'; there are cpu, sim")


def test_a_device_that_is_registered_again_has_its_own_backend_and_its_old_hooks():
    class Kind(Prompt):
        type = "again"

    first, second = Kind(), Kind()
    made = []
    with et.hooks.on("stream_creation", made.append, device=et.Device.register(first)):
        stream = et.Stream("again")
        numbers = [stream.stream_id]
        stream.close()
        del stream
        et.Device.unregister("again")
        assert "again" not in BACKENDS
        with pytest.raises(et.UsageValueError, match="there is no device type 'again'"):
            et.Stream("again")
        et.Device.register(second)
        assert BACKENDS["again"] is second
        stream = et.Stream("again")
        numbers.append(stream.stream_id)
        assert made == numbers
        stream.close()
        del stream
    et.Device.unregister("again")


def test_the_name_of_a_device_of_torch_is_suggested():
    with pytest.raises(
        et.UsageValueError, match=r"there is no device type 'cuda'; for that of torch write torch:cuda; "
    ):
        et.Stream("cuda")
