"""Checks after every test that nothing is left behind: subscriptions, profiles, a current stream, threads."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import eventide as et
from eventide import _native
from tests.skips import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]  # hooks of pytest

# No deadline: the time of an example, or of its generation, depends on the machine more than on the code.
no_clock: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("light", max_examples=100, **no_clock)
settings.register_profile("stress", max_examples=1000, **no_clock)
settings.load_profile("light")

# Output has the width that it has in a pipe; the processes of pytest-xdist set one.
os.environ.pop("COLUMNS", None)

# A shell makes background processes ignore Ctrl-C, and the programs that a test starts and interrupts would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was imported and collected stays: without it a run of the collector takes milliseconds, not a second."""
    gc.collect()
    gc.freeze()


def listeners() -> dict[str, int]:
    """The number of callbacks and observers of each hook."""
    return {hook: et.hooks.statistics(hook)["callbacks"] for hook in et.hooks.HOOKS}


def compile_listeners() -> int:
    """The number of compile callbacks; 0 if the package is not imported."""
    compiling = sys.modules.get("eventide.compiling")
    return compiling.callback_handler.statistics()["callbacks"] if compiling else 0


def running_profile() -> Any:
    """The profile that runs, or None if the package is not imported."""
    profiler = sys.modules.get("eventide.profiler")
    return profiler.current_profiler() if profiler else None


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Each leftover is reported by the test that left it, alone, and removed where that is possible."""
    threads, before, compile_before = set(threading.enumerate()), listeners(), compile_listeners()
    yield
    left = []
    for hook, count in listeners().items():
        if count > before[hook]:
            _native.hook_clear(et.hooks.HOOKS.index(hook))
            left.append(f"{count - before[hook]} listeners at {hook}")
    if compile_listeners() > compile_before:
        left.append(f"{compile_listeners() - compile_before} compile callbacks")
    while (running := running_profile()) is not None:
        left.append(repr(running))
        running.stop()
    default = et.default_stream("cpu")
    while (current := et.current_stream("cpu")) != default:
        left.append(f"{current!r} as the current stream")
        try:
            current.__exit__(None, None, None)
        except et.UsageError:  # it was not entered but set
            et.set_stream(default)
    if (device := _native.current_device()) != ("cpu", 0):
        left.append(f"{device[0]}:{device[1]} as the current device")
        et.set_stream(default)
    for thread in set(threading.enumerate()) - threads:
        if not thread.daemon:
            thread.join(1.0)  # a thread that is about to end is not a leftover
            if thread.is_alive():
                left.append(f"a running thread, {thread.name!r}")
    assert not left, f"the test left behind: {'; '.join(left)}"


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Only reference counts free objects during the test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
