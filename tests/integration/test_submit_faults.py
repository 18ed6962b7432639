"""A device whose submit() queues the work and then raises: the work never runs, or its Future fails; no crash."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import eventide as et
from examples.tiny_device import Tiny
from tests.helpers import TIMEOUT, Gate
from tests.immediate_device import Prompt
from tests.integration.faulty_python import faulty
from tests.integration.plugin_devices import loaded

GONE = OSError("gone")
WORDS = r"submit\(\) of device '\w+' (raised OSError: gone|threw thrown by submit)"


class Submit:
    """Queues the work; then it raises `error`, once `until` returned"""

    def __init__(self, error: BaseException, until: Callable[[], object] = lambda: None) -> None:
        self.error, self.until, self.armed = error, until, True

    def __get__(self, backend: Any, _: type) -> Callable[..., Any]:
        return self.submit

    def submit(self, steps: Any, work: Any) -> None:
        steps.put(work.run)
        if self.armed:
            self.until()
            raise self.error


@pytest.mark.parametrize("backend", [Tiny, Prompt])
@pytest.mark.parametrize("error", [GONE, KeyboardInterrupt("gone")])
def test_work_that_is_queued_when_submit_raises_never_runs(backend: type[Any], error: BaseException) -> None:
    method, ran, gate = Submit(error), list[int](), Gate()
    with faulty(backend, submit=method) as device:
        stream, cpu = et.Stream(device), et.Stream("cpu")
        gate.hold(cpu)
        stream.wait_stream(cpu)
        expected = et.DeviceError if error is GONE else KeyboardInterrupt
        for number in range(3):
            with pytest.raises(expected, match="gone"):
                stream.submit(ran.append, number)
        assert stream.pending == 0
        gate.open()
        stream.record_event().synchronize(TIMEOUT)  # the device has run all that it queued
        assert ran == []
        if backend is Tiny:
            method.armed = False
            assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
        stream.close(TIMEOUT)
        cpu.close(TIMEOUT)
        del stream


@pytest.mark.parametrize("backend", [Tiny, Prompt])
def test_work_that_runs_when_submit_raises_fails_with_that_error(backend: type[Any]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        entered.set()
        assert leave.wait(TIMEOUT)

    with faulty(backend, submit=Submit(GONE, lambda: entered.wait(TIMEOUT))) as device:
        stream = et.Stream(device)
        future = stream.submit(work)
        assert not future.done()
        leave.set()
        with pytest.raises(et.DeviceError, match=WORDS):
            future.result(TIMEOUT)
        with pytest.raises(et.DeviceError, match=WORDS):
            stream.close(TIMEOUT)
        del stream, future


def test_work_that_is_queued_when_submit_of_a_plug_in_throws_never_runs() -> None:
    ran, gate = list[int](), Gate()
    with loaded("faulty", "submit queues and throws") as device:
        stream, cpu = et.Stream(device), et.Stream("cpu")
        gate.hold(cpu)
        stream.wait_stream(cpu)
        for number in range(3):
            with pytest.raises(et.DeviceError, match=WORDS):
                stream.submit(ran.append, number)
        assert stream.pending == 0
        gate.open()
        stream.record_event().synchronize(TIMEOUT)
        assert ran == []
        stream.close(TIMEOUT)
        cpu.close(TIMEOUT)
        del stream
