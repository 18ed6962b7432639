"""A captured stack is the one that sys._getframe shows, whatever runs: the walk reads frames that differ by version."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import eventide as et
from eventide import _native
from tests import stack_scenes as scenes
from tests.helpers import TIMEOUT, eventually
from tests.stack_scenes import FIXED, SCENES, Scene

Place = tuple[str, int, str]


def places(frame: FrameType | None, limit: int = 128) -> list[Place]:
    out: list[Place] = []
    while frame is not None and len(out) < limit:
        out.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname))
        frame = frame.f_back
    return out


class Seen:
    """What both walks saw, call by call; a call represents any function that C or Python may call."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, *arguments: object) -> int:
        number, frame = _native.capture_stack(), sys._getframe()
        assert list(_native.resolve_stack(number)[1:]) == places(frame.f_back, limit=127)
        self.numbers.append(number)
        return 0


@pytest.mark.parametrize("scene", [*SCENES, scenes.event_loop])
def test_the_walk_sees_what_python_shows(scene: Scene) -> None:
    look = Seen()
    scene(look)
    assert look.numbers
    assert 0 not in look.numbers


@pytest.mark.parametrize("scene", FIXED)
def test_the_numbers_stay_when_the_interpreter_has_warmed_up(scene: Scene) -> None:
    runs = []
    for _ in range(60):
        look = Seen()
        scene(look)  # the interpreter has rewritten the code after a few calls
        runs.append(look.numbers)
    assert runs == [runs[0]] * len(runs)


@contextlib.contextmanager
def traced() -> Iterator[None]:
    def trace(frame: FrameType, event: str, argument: object) -> Any:
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: None)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextlib.contextmanager
def monitored() -> Iterator[None]:
    monitoring: Any = vars(sys)["monitoring"]
    tool = 4
    monitoring.use_tool_id(tool, "test")
    events = monitoring.events
    wanted = events.CALL | events.LINE | events.INSTRUCTION | events.PY_START | events.PY_RETURN | events.RAISE
    for event in (events.CALL, events.LINE, events.INSTRUCTION, events.PY_START, events.PY_RETURN, events.RAISE):
        monitoring.register_callback(tool, event, lambda *arguments: None)
    monitoring.set_events(tool, wanted)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


since_312 = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with Python 3.12")


@pytest.mark.parametrize("watched", [traced, profiled, pytest.param(monitored, marks=since_312)])
@pytest.mark.parametrize("scene", SCENES)
def test_a_program_that_is_traced_has_the_same_stacks(
    scene: Scene, watched: Callable[[], contextlib.AbstractContextManager[None]]
) -> None:
    look = Seen()
    scene(look)
    with watched():
        scene(look)
    scene(look)
    assert len(look.numbers) % 3 == 0


def test_a_trace_function_captures_the_frames_that_it_is_called_for() -> None:
    look, events = Seen(), []

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        events.append(event)
        look()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scenes.special_methods(lambda *arguments: 0)
    finally:
        sys.settrace(before)
    assert {"call", "line", "return", "exception"} <= set(events)


@pytest.mark.parametrize("scene", FIXED)
def test_the_sampler_sees_a_waiting_thread_as_python_shows_it(scene: Scene) -> None:
    lock: Any = threading.Lock()
    space: dict[str, Any] = {}
    exec("def run(scene, look): scene(look)", space)  # new code: its stack has no number yet
    wait = lambda *arguments: (lock.acquire(timeout=TIMEOUT) and lock.release()) or 0  # noqa: E731, one line
    thread = threading.Thread(target=space["run"], args=(scene, wait))
    with et.Recorder() as recorder, lock:
        thread.start()
        frames = sys._current_frames
        eventually(lambda: frames()[thread.ident or 0].f_code is wait.__code__, "the thread waits for the lock")
        expected = places(frames()[thread.ident or 0])
        before, _ = _native.stack_statistics()
        _native.sampler_start(1_000_000)
        try:
            eventually(lambda: _native.stack_statistics()[0] > before, "the sampler has taken a sample")
        finally:
            _native.sampler_stop()
    thread.join(TIMEOUT)
    stacks = [[tuple(frame.values()) for frame in stack] for stack in recorder.trace.stacks["frames"].to_pylist()]
    assert expected in stacks
