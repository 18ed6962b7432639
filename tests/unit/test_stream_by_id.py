"""Streams by their id, as torch.Stream(stream_id=..., device_index=..., device_type=...); priorities of a device."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import eventide as et
from eventide.backends import DeviceBackend
from tests.helpers import TIMEOUT
from tests.immediate_device import Prompt


def test_the_stream_of_an_id_is_the_same_object(stream):
    found = et.Stream(stream_id=stream.stream_id)
    assert found is stream
    assert found.submit(int, "3").result(TIMEOUT) == 3
    again = et.Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)
    assert again is stream


def test_the_default_stream_is_found_and_a_subclass_gives_the_existing_object():
    class Lane(et.Stream):
        pass

    default = et.default_stream("cpu")
    assert Lane(stream_id=default.stream_id) is default
    lane = Lane("cpu")
    assert et.Stream(stream_id=lane.stream_id) is lane
    lane.close(TIMEOUT)


def test_a_stream_that_ended_is_not_found():
    stream = et.Stream("cpu")
    number = stream.stream_id
    stream.close(TIMEOUT)
    assert et.Stream(stream_id=number).closed
    del stream
    gc.collect()
    with pytest.raises(et.UsageValueError, match=f"there is no stream with the id {number}; stream.stream_id has"):
        et.Stream(stream_id=number)


@pytest.mark.parametrize("wrong", ["7", 1.5, True, b"1"])
def test_an_id_of_another_type_is_a_type_error(wrong):
    with pytest.raises(et.UsageTypeError, match=f"stream_id must be an int, not {type(wrong).__name__}"):
        et.Stream(stream_id=wrong)


def test_what_is_given_beside_an_id_must_be_true_of_it(stream):
    number = stream.stream_id
    with pytest.raises(et.UsageValueError, match=r"is not on sim:1; give its own device, or none"):
        et.Stream("sim:1", stream_id=number)
    with pytest.raises(et.UsageTypeError, match="max_pending belongs to a new stream"):
        et.Stream(stream_id=number, max_pending=3)
    with pytest.raises(et.UsageTypeError, match="priority belongs to a new stream"):
        et.Stream("cpu", 1, stream_id=number)
    with pytest.raises(et.UsageTypeError, match=r"got both a device, 'cpu', and its type or index; give one"):
        et.Stream("cpu", device_index=0)
    assert stream.submit(int, "1").result(TIMEOUT) == 1


def test_a_new_stream_takes_its_device_in_two_parts():
    with et.Stream.open(et.Device("sim", 2)) as by_device:
        assert by_device.device_index == 2
    stream = et.Stream(device_type="sim", device_index=2)
    assert (stream.device_type, stream.device_index) == ("sim", 2)
    stream.close(TIMEOUT)
    with pytest.raises(et.UsageValueError, match="there is no device 'cpu:9'"):
        et.Stream(device_type="cpu", device_index=9)


class Urgent(Prompt):
    """A device with priorities 0 (least) to -3, as CUDA counts."""

    limits: Any = (0, -3)

    def priority_range(self, index: int) -> Any:
        return self.limits


@pytest.fixture
def urgent() -> Iterator[Urgent]:
    backend = Urgent()
    et.Device.register(backend, "urgent")
    yield backend
    gc.collect()
    et.Device.unregister("urgent")


def test_a_priority_outside_of_the_range_names_the_range(urgent):
    stream = et.Stream("urgent", -3)
    assert stream.priority == -3
    for wrong in (-4, 1):
        with pytest.raises(et.UsageValueError, match=f"a priority on urgent:0 is from -3 to 0, not {wrong}"):
            et.Stream("urgent", wrong)
    stream.close(TIMEOUT)


def test_a_device_without_a_range_accepts_what_fits_into_32_bits():
    assert DeviceBackend().priority_range(0) is None
    stream = et.Stream("cpu", -(2**31))
    assert stream.priority == -(2**31)
    with pytest.raises(
        et.UsageValueError, match=r"a priority on cpu:0 is from -2147483648 to 2147483647, not 2147483648"
    ):
        et.Stream("cpu", 2**31)
    with pytest.raises(et.UsageTypeError, match="priority must be an int, not str"):
        et.Stream("cpu", "high")


@pytest.mark.parametrize("limits", [3, (1, 2, 3), ("a", "b"), ()])
def test_an_invalid_range_of_a_device_is_a_device_error_with_the_value(urgent, limits):
    urgent.limits = limits
    with pytest.raises(et.DeviceError, match=r"Urgent\.priority_range\(\) returned .*; it must be two whole numbers"):
        et.Stream("urgent", 1)
