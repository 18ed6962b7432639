"""A stream of a polled device, used by two threads at once and by its own hooks: no crash, no deadlock.

Each scenario runs in a separate process, because a failure ends or hangs the process.
"""

from __future__ import annotations

import pytest

from tests.integration.plugin_devices import example_library
from tests.integration.processes import run

DEVICES = ["sim", "tiny", "prompt", "plug-in", pytest.param("opencl", marks=pytest.mark.heavy)]
STORIES = [
    "record_and_query",
    "hooks_query_each_other",
    "hook_queries_its_stream",
    "hook_waits_for_its_stream",
    "callback_finds_no_thread",
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("story", STORIES)
def test_a_shared_stream_neither_crashes_nor_deadlocks(story: str, device: str, request: pytest.FixtureRequest) -> None:
    if device == "opencl":
        request.getfixturevalue("opencl")
    # 3,000 rounds that give the GIL away twenty times each, on a machine that may be busy.
    ended = run("shared_stream", story, example_library() if device == "plug-in" else device, limit=180.0)
    ended.check(0)
    assert ended.out.split() == ["ok"], str(ended)


@pytest.mark.parametrize("story", STORIES[2:])
def test_hooks_and_callbacks_of_a_stream_of_the_cpu(story: str) -> None:
    assert run("shared_stream", story, "cpu").check(0).out.split() == ["ok"]
