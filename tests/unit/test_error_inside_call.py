"""Work that a device runs inside a call of the program: its error refers to the work, not to the caller."""

import contextlib
import dataclasses
import traceback
import weakref
from collections import deque

import pytest

import eventide as et
from eventide.backends import MarkerState
from examples.tiny_device import Marker, Tiny
from tests.helpers import TIMEOUT, Boom, boom, eventually
from tests.immediate_device import Prompt


class Inline(Tiny):
    """Runs what is queued inside poll: on the thread that waits"""

    type = "inline"

    def capabilities(self, index):
        return dataclasses.replace(super().capabilities(index), gate=False, concurrent=False)

    def open_stream(self, index, priority):
        return deque()

    def close_stream(self, steps):
        pass

    def submit(self, steps, work):
        steps.append(work.run)

    def make_marker(self, steps, timing):
        marker = Marker()
        marker.steps = steps
        steps.append(marker.set)
        return marker

    def wait(self, steps, marker):
        steps.append(lambda: self.poll(marker))

    def poll(self, marker):
        while not marker.passed.is_set():
            marker.steps.popleft()()
        return MarkerState.DONE

    def join(self, marker, timeout):
        self.poll(marker)


class Faulty(Inline):
    """Each marker fails with an error that the device caught inside poll"""

    type = "faulty"

    def poll(self, marker):
        super().poll(marker)
        try:
            boom()
        except Boom as error:
            marker.error = error
        return MarkerState.FAILED

    def error(self, marker):
        return marker.error


BACKENDS = {kind.type: kind for kind in (Inline, Faulty, Prompt)}


@pytest.fixture(params=["cpu", "sim:1", "inline", "prompt"])
def device(request):
    with registered(request.param) as name:
        yield name


@contextlib.contextmanager
def registered(name):
    """The device exists for one test; it can be removed only when its streams are closed."""
    mine = name in BACKENDS and name not in {one.type for one in et.devices()}
    if mine:
        et.Device.register(BACKENDS[name])
    yield name
    if mine:
        eventually(lambda: removed(name), f"no stream of {name} is left")


def removed(name):
    with contextlib.suppress(et.DeviceError):
        et.Device.unregister(name)
        return True


def fail_and_wait(device, wait):
    """The variables of this function have everything that carries the error."""
    stream = et.Stream(device)
    other = et.Stream(device)
    future = stream.submit(boom)
    event = stream.record_event()
    other.wait_event(event)
    behind = other.record_event()
    with contextlib.suppress(Boom, et.StreamError):
        wait(stream, event, future)
    with contextlib.suppress(Boom, et.StreamError):
        behind.synchronize(TIMEOUT)
    return [weakref.ref(one) for one in (stream, other, future, event, behind)]


def in_an_except_block(stream, event, future):
    try:
        raise KeyError(0)
    except KeyError:
        event.synchronize(TIMEOUT)


WAYS = {
    "event": lambda stream, event, future: event.synchronize(TIMEOUT),
    "future": lambda stream, event, future: future.result(TIMEOUT),
    "stream": lambda stream, event, future: stream.synchronize(TIMEOUT),
    "query": lambda stream, event, future: eventually(event.query, "the work fails"),
    "except": in_an_except_block,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_carries_an_error_is_freed_with_the_caller_and_needs_no_collector(device, way, no_collector):
    references = fail_and_wait(device, WAYS[way])
    eventually(lambda: not any(one() for one in references), "all that carried the error is freed")


@pytest.mark.parametrize("name", ["sim:1", "inline"])
def test_a_device_does_not_raise_the_error_of_a_stream_that_was_dropped(name, no_collector):
    with registered(name):
        fail_and_wait(name, WAYS["event"])
        et.synchronize(name, TIMEOUT)


def test_an_error_that_a_device_caught_inside_a_call_keeps_no_caller(no_collector):
    with registered("faulty") as name:
        references = fail_and_wait(name, WAYS["event"])
        eventually(lambda: not any(one() for one in references), "all that carried the error is freed")


def handle_twice():
    """Work with an error of its own that was handled first."""
    try:
        raise IndexError(1)
    except IndexError:
        boom()


@pytest.mark.parametrize("name", ["sim:1", "inline"])
def test_an_error_has_the_context_of_the_work_and_not_that_of_the_caller(name):
    with registered(name):
        stream = et.Stream(name)
        try:
            raise KeyError(0)
        except KeyError:
            future = stream.submit(handle_twice)
            eventually(future.done, "the work fails")
        error = future.exception(TIMEOUT)
        assert repr(error.__context__) == "IndexError(1)"
        assert error.__context__.__context__ is None
        with pytest.raises(Boom):
            stream.close(TIMEOUT)


def test_an_error_that_the_program_keeps_has_the_frames_of_caller_and_work_with_their_variables(device):
    variable = object()
    stream = et.Stream(device)
    with pytest.raises(Boom) as caught:
        stream.submit(boom, "kept").result(TIMEOUT)
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb)]
    assert [frame.f_code.co_name for frame in frames] == [
        "test_an_error_that_the_program_keeps_has_the_frames_of_caller_and_work_with_their_variables",
        "boom",
    ]
    assert frames[0].f_locals["variable"] is variable
    assert frames[0].f_back is not None
    assert frames[1].f_locals == {"message": "kept"}
    assert frames[1].f_back is None
    with pytest.raises(Boom):
        stream.close(TIMEOUT)
